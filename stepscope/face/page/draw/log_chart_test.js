// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {decades, decades_around, log_frame, powers_of} from './log_chart.js';

const box = {left: 10, right: 110, top: 0, bottom: 50};

test('decades enclose the values', () => {
  assert.deepEqual(decades(0.1, 100), [0.1, 1, 10, 100]);
  assert.deepEqual(decades_around([1024, 64e6]), [3, 8]);
  assert.deepEqual(decades_around([1000]), [3, 4]);
  assert.deepEqual(decades_around([10, 1000]), [1, 3]);
  assert.deepEqual(decades_around([0.02, 0, -5, NaN]), [-2, -1]);
});

test('without a value there is a frame all the same', () => {
  const frame = log_frame([], [0], box);
  assert.ok(Number.isFinite(frame.x(1)) && Number.isFinite(frame.y(1)));
});

test('ends of the decades are the ends of the box', () => {
  const frame = log_frame([20, 700], [3e4, 2e5], box);
  assert.deepEqual([frame.x(10), frame.x(1000)], [10, 110]);
  assert.deepEqual([frame.y(1e4), frame.y(1e6)], [50, 0]);
});

test('a tall range has few lines', () => {
  assert.deepEqual(powers_of({short: 0, long: 3}), [1, 10, 100, 1000]);
  assert.deepEqual(powers_of({short: 0, long: 12}, 6).map(Math.log10), [0, 2, 4, 6, 8, 10, 12]);
});
