// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {along, meet, placed_labels} from './label_places.js';

const box = {left: 0, right: 600, top: 0, bottom: 400};
const point = (label, px, py, time = 1, r = 5) => ({label, px, py, time, r});

test('labels lie on no other label, on no point and inside the chart', () => {
  const points = [...Array(40).keys()].map(
    (i) => point(`operation ${i}`, 40 + (i * 97) % 520, 30 + (i * 61) % 340, 1 + i));
  const labels = placed_labels(points, box, []);
  assert.ok(labels.length > 10);
  for (const [i, {place}] of labels.entries()) {
    assert.ok(place.x0 >= box.left && place.x1 <= box.right && place.y1 <= box.bottom);
    for (const other of labels.slice(i + 1)) assert.ok(!meet(place, other.place));
    for (const p of points.filter((q) => q.label !== labels[i].label))
      assert.ok(!meet(place, {x0: p.px - 4, x1: p.px + 4, y0: p.py - 4, y1: p.py + 4}));
  }
});

test('the largest is placed first, and what has no room is left out', () => {
  const crowd = [point('small', 300, 200, 1), point('large', 302, 200, 1000)];
  assert.equal(placed_labels(crowd, box, [])[0].label, 'large');
  assert.deepEqual(placed_labels(crowd, box, [{x0: 0, x1: 600, y0: -20, y1: 400}]), []);
});

test('a line is covered without a gap', () => {
  const boxes = along({x1: 0, y1: 0, x2: 30, y2: 40});
  assert.ok(boxes.length >= 7);
  assert.deepEqual([boxes[0].x0, boxes[0].y0], [-2, -2]);
  assert.deepEqual([boxes[boxes.length - 1].x1, boxes[boxes.length - 1].y1], [32, 42]);
});
