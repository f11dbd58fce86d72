// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {tree_places} from './trees.js';

const by_rank = ({places}) => new Map(places.map((p) => [p.rank, p]));

test('a parent stands above the middle of its children', () => {
  const tree = tree_places([
    {rank: 0, up: null, down: [1, 2]}, {rank: 1, up: 0, down: []}, {rank: 2, up: 0, down: [3]},
    {rank: 3, up: 2, down: []}
  ]);
  const p = by_rank(tree);
  assert.deepEqual([0, 1, 2, 3].map((r) => p.get(r).layer), [0, 1, 1, 2]);
  assert.equal(p.get(0).column, (p.get(1).column + p.get(2).column) / 2);
  assert.deepEqual([tree.columns, tree.layers], [2, 3]);
});

test('a chain of a thousand ranks is one column', () => {
  const tree = tree_places(Array.from({length: 1000}, (_, i) => ({
    rank: i, up: i ? i - 1 : null, down: i < 999 ? [i + 1] : []
  })));
  assert.deepEqual([tree.places.length, tree.columns, tree.layers], [1000, 1, 1000]);
});

test('ranks that only others name are not logged', () => {
  const p = by_rank(tree_places([{rank: 3, up: 1, down: [4, 5]}]));
  assert.deepEqual([...p.keys()].sort(), [1, 3, 4, 5]);
  assert.deepEqual([p.get(1).logged, p.get(3).logged, p.get(3).layer], [false, true, 1]);
});

test('a circle has no place, and nothing waits for it', () => {
  const tree = tree_places([
    {rank: 0, up: 1, down: [1]}, {rank: 1, up: 0, down: [0]}, {rank: 2, up: null, down: []}
  ]);
  assert.deepEqual(tree.places.map((x) => x.rank), [2]);
});
