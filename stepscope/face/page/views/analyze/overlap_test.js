// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {contention_of, overlap_mean, overlap_of_step} from './overlap.js';

const contention = (alone_ns, overlapped_ns, count) =>
    [{name: 'gemm', shape: '[1]', alone_ns, overlapped_ns, count}];

test('a kernel of several ranks stands once, weighted by its count', () => {
  const [row] = contention_of([{contention: contention(10, 20, 1)},
                               {contention: contention(20, 30, 3)}, {}]);
  assert.equal(row.count, 4);
  assert.equal(row.alone_ns, 17.5);
  assert.equal(row.overlapped_ns, 27.5);
  assert.equal(row.lost_ns, 40);
  assert.ok(Math.abs(row.slowdown - 110 / 70) < 1e-12);
});

test('means are over the ranks that know', () => {
  const mean = overlap_mean([{ratio: 0.5, step_ns: 100}, {ratio: null, step_ns: 300}]);
  assert.equal(mean.ratio, 0.5);
  assert.equal(mean.step_ns, 200);
  assert.equal(mean.efficiency, null);
});

test('times are of one step, shares stay', () => {
  const rank = {steps: [{}, {}], overlap: {ratio: 0.5, comm_ns: 10, step_ns: null}};
  assert.deepEqual(overlap_of_step(rank), {ratio: 0.5, comm_ns: 5, step_ns: null});
});
