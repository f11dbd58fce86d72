// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {cuts, full_colour, joined_cells} from './heat_map.js';

test('cuts have about equal parts and cover everything', () => {
  assert.deepEqual(cuts(10, 3), [0, 3, 6, 10]);
  assert.deepEqual(cuts(2, 5), [0, 1, 2]);
  assert.deepEqual(cuts(0, 5), [0]);
});

test('a joined cell keeps what is furthest from zero', () => {
  const cells = [[0.1, -0.3, null], [0.2, 0, null]];
  assert.deepEqual(joined_cells(cells, cuts(2, 1), cuts(3, 2)), [[0.2, -0.3]]);
  assert.deepEqual(joined_cells(cells, [0, 2], [0, 2, 3]), [[-0.3, null]]);
  assert.deepEqual(joined_cells([], [0], [0]), []);
});

test('the colour is full at a round share that few cells exceed', () => {
  const cells = [Array.from({length: 99}, (_, i) => i / 1000), [9]];
  assert.equal(full_colour(cells), 0.1);
  assert.equal(full_colour([[null, 0]]), 0.01);
  assert.equal(full_colour([]), 0.01);
  assert.equal(full_colour([[-0.04]]), 0.05);
  assert.equal(full_colour([[50]]), 100);
});
