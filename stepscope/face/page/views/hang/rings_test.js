// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {ring_places} from './rings.js';

test('the ranks of a ring are equally far from each other and from its middle', () => {
  for (const n of [1, 2, 3, 8, 1000]) {
    const {places, dot} = ring_places(n, true, 100);
    assert.equal(places.length, n);
    for (const p of places) assert.ok(Math.abs(Math.hypot(p.x, p.y) - 100) < 1e-9);
    assert.ok(Math.abs(places[0].x) < 1e-9 && places[0].y < 0);  // from the top
    if (n > 2) {
      const gap = (a, b) => Math.hypot(a.x - b.x, a.y - b.y);
      assert.ok(Math.abs(gap(places[0], places[1]) - gap(places[n - 1], places[0])) < 1e-9);
      if (n < 100) assert.ok(gap(places[0], places[1]) > 2 * dot);
    }
  }
});

test('a part of a ring stays open', () => {
  const {places} = ring_places(20, false, 100);
  const gap = Math.hypot(places[0].x - places[1].x, places[0].y - places[1].y);
  const end = Math.hypot(places[0].x - places[19].x, places[0].y - places[19].y);
  assert.ok(end > 1.5 * gap);
  assert.equal(ring_places(1, false, 100).places.length, 1);
});

test('crowded ranks are named only now and then', () => {
  assert.equal(ring_places(8, true, 150).named, 1);
  assert.ok(ring_places(1000, true, 276).named >= 13);
});
