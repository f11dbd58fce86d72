// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {reach_of} from './operations.js';

const machine = {peaks: [{dtype: 'fp32', peak_flops: 200e9}], memory_gb_per_s: 10};

test('products are drawn by their share of the peak, passes by their traffic', () => {
  const product = reach_of(machine, {class: 'matmul', dtype: 'fp32', flops: 1e6, bytes: 1});
  assert.equal(product.at(1e4), 0.5);
  const pass = reach_of(machine, {class: 'norm', dtype: 'bf16', flops: 0, bytes: 4e6});
  assert.deepEqual([pass.matrix, pass.at(1e6)], [false, 4]);
});

test('without work, a peak or a time nothing is drawn', () => {
  assert.equal(reach_of(machine, {class: 'matmul', dtype: 'bf16', flops: 1, bytes: 1}), null);
  assert.equal(reach_of(machine, {class: 'norm', dtype: 'fp32', flops: 0, bytes: 0}), null);
  const pass = reach_of(machine, {class: 'norm', dtype: 'fp32', flops: 0, bytes: 1});
  assert.equal(pass.at(null), null);
});
