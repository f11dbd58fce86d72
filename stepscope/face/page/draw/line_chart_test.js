// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {band_path, path_of, range_of, step_frame} from './line_chart.js';

const frame = {x: (i) => 10 * i, y: (v) => v};

test('a line breaks where a value lacks, and a lone value is a dash', () => {
  assert.equal(path_of([1, 2, null, 4, NaN, 5, 6], frame),
    'M0.0,1.0L10.0,2.0M28.5,4.0L31.5,4.0M50.0,5.0L60.0,6.0');
  assert.equal(path_of([], frame), '');
  assert.equal(path_of([null, undefined], frame), '');
});

test('a band goes forth at the top and back at the bottom', () => {
  assert.equal(band_path([{least: 1, most: 3}, null, {least: 2, most: 4}], frame),
    'M0.0,3.0L20.0,4.0L20.0,2.0L0.0,1.0z');
  assert.equal(band_path([null], frame), '');
});

test('the range has room and is never empty', () => {
  assert.deepEqual(range_of([], false), [0, 1]);
  assert.deepEqual(range_of([null, NaN], true), [0, 1]);
  assert.deepEqual(range_of([0], true), [0, 1]);
  const [low, high] = range_of([2, 2], false);
  assert.ok(low < 2 && high > 2);
  assert.deepEqual(range_of([0, 0], false), [-1, 1]);
  assert.ok(range_of([-3, 5], false)[0] < -3);
});

test('steps stand in the middle of their columns', () => {
  const f = step_frame(4, [0, 10], 478);
  assert.equal(f.x(0) - f.box.left, f.wide / 2);
  assert.equal(f.y(0), f.box.bottom);
  assert.ok(Number.isFinite(step_frame(0, [1, 1], 100).y(1)));
});
