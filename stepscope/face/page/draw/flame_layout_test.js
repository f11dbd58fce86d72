// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {flame_layout, flame_model, mixed, name_noise} from './flame_layout.js';

// all(100) > main(60) > [f(40) > g(10), h(20)], other(40)
const columns = {
  labels: ['all', 'main', 'f', 'g', 'h', 'other'],
  label: [0, 1, 2, 3, 4, 5],
  parent: [0, 0, 1, 2, 1, 0],
  total: [100, 60, 40, 10, 20, 40]
};

test('the tree from its columns', () => {
  const m = flame_model(columns, null);
  assert.deepEqual([...m.depth], [0, 1, 2, 3, 2, 1]);
  assert.deepEqual([...m.end], [6, 5, 4, 4, 5, 6]);
  assert.deepEqual(m.words, columns.labels);
});

test('children stand side by side below what calls them', () => {
  const boxes = new Map(flame_layout(flame_model(columns, null), 0).map((b) => [b.i, b]));
  const expected = [[0, 0, 1], [1, 0, 0.6], [2, 0, 0.4], [3, 0, 0.1], [4, 0.4, 0.2], [5, 0.6, 0.4]];
  assert.equal(boxes.size, expected.length);
  for (const [i, x, w] of expected) {
    assert.ok(Math.abs(boxes.get(i).x - x) < 1e-12, `x of ${i}`);
    assert.ok(Math.abs(boxes.get(i).w - w) < 1e-12, `width of ${i}`);
  }
});

test('a node that fills the width keeps those that call it above', () => {
  const boxes = flame_layout(flame_model(columns, null), 2);
  assert.deepEqual(boxes.map((b) => [b.i, b.x, b.w]),
    [[0, 0, 1], [1, 0, 1], [2, 0, 1], [3, 0, 0.25]]);
});

test('what is too narrow to be seen is left out with all it calls', () => {
  const m = flame_model({...columns, total: [100000, 60000, 10, 9, 20000, 40000]}, null);
  assert.deepEqual(flame_layout(m, 0).map((b) => b.i), [0, 1, 4, 5]);
});

test('a comparison is as wide as the larger of both', () => {
  const m = flame_model({...columns, before: [100, 20, 10, 30, 5, 80]}, null);
  assert.deepEqual([...m.wide], [140, 60, 40, 30, 20, 80]);
});

test('colours between two, and a name always the same', () => {
  assert.equal(mixed('rgb(0, 0, 0)', 'rgb(200, 100, 50)', 0.5), 'rgb(100 50 25)');
  assert.equal(name_noise('forward'), name_noise('forward'));
  assert.ok(name_noise('forward') >= 0 && name_noise('forward') < 1);
});
