// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {memory_frame, thinned} from './memory_chart.js';

const points = [...Array(1000).keys()].map(
  (i) => ({time_ns: i, allocated_bytes: i === 617 ? 5000 : i % 10, reserved_bytes: 6000}));

test('thinning keeps the peak', () => {
  const few = thinned(points, 50);
  assert.equal(few.length, 50);
  assert.ok(few.some((p) => p.allocated_bytes === 5000));
  assert.equal(thinned(points, 1000), points);
});

test('time runs from left to right, bytes from the ground up', () => {
  const frame = memory_frame({peak_allocated_bytes: 5000}, points, 1000);
  assert.equal(frame.x(0), frame.box.left);
  assert.equal(frame.x(999), frame.box.right);
  assert.equal(frame.y(0), frame.box.bottom);
  assert.ok(frame.y(6000) >= frame.box.top);
  assert.equal(frame.top, 6360);
  assert.match(frame.line('reserved_bytes'), /^M62\.0,[\d.]+H[\d.]+V/);
});

test('one instant alone still has a place', () => {
  const frame = memory_frame({}, [{time_ns: 7, allocated_bytes: 0}], 1000);
  assert.equal(frame.x(7), frame.box.left);
  assert.equal(frame.y(0), frame.box.bottom);
});
