// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {merged, over} from './rows.js';

const kernels = [
  {name: 'gemm', count: 2, total_ns: 100, min_ns: 40, max_ns: 60, tflops: 300, gb_per_s: null},
  {name: 'copy', count: 1, total_ns: 100, min_ns: 100, max_ns: 100, tflops: null},
  {name: 'gemm', count: 6, total_ns: 300, min_ns: 30, max_ns: 55, tflops: 100, gb_per_s: 7}
];

test('rows of one key are added, their rates weighted by time', () => {
  const [gemm, copy] = merged(kernels, (r) => r.name, 'total_ns');
  assert.equal(gemm.count, 8);
  assert.equal(gemm.total_ns, 400);
  assert.equal(gemm.mean_ns, 50);
  assert.deepEqual([gemm.min_ns, gemm.max_ns], [30, 60]);
  assert.equal(gemm.tflops, 150);
  assert.equal(gemm.gb_per_s, 7);
  assert.equal(gemm.share, 0.8);
  assert.equal(copy.share, 0.2);
  assert.equal(copy.tflops, null);
  assert.equal(kernels[0].count, 2);  // the data itself is unchanged
});

test('one rank alone is shown as it is', () => {
  const rank = {kernels};
  assert.equal(over([rank], 'kernels', (r) => r.name, 'total_ns'), kernels);
  assert.deepEqual(over([{}], 'kernels', (r) => r.name, 'total_ns'), []);
  assert.equal(over([rank, {}], 'kernels', (r) => r.name, 'total_ns').length, 2);
});
