// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {joined, quantile, strip_of, strip_range, thinned_sorted} from './strips.js';

test('quantiles interpolate', () => {
  assert.equal(quantile([1, 2, 3, 4], 0.5), 2.5);
  assert.equal(quantile([7], 0.95), 7);
  assert.equal(quantile([], 0.5), null);
});

test('thinning keeps both ends and the shape', () => {
  const all = Array.from({length: 1000}, (_, i) => i);
  const few = thinned_sorted(all, 11);
  assert.deepEqual([few[0], few[5], few[10], few.length], [0, 500, 999, 11]);
  assert.deepEqual(thinned_sorted([1, 2], 5), [1, 2]);
  assert.deepEqual(thinned_sorted([1, 2, 3], 1), [1]);
});

test('launches count by their steps, not by the times that stand for them', () => {
  const few = {sorted: Array(100).fill(1), all: 100};
  const many = {sorted: Array(100).fill(2), all: 1000};  // each stands for ten
  const both = joined([few, many]);
  assert.equal(both.filter((v) => v === 1).length, 10);
  assert.equal(both.filter((v) => v === 2).length, 100);
  assert.deepEqual(joined([{sorted: [], all: 0}]), []);
});

test('one long step does not stretch the scale', () => {
  const usual = {sorted: Array.from({length: 100}, (_, i) => 100 + i / 10)};
  const [, high] = strip_range([usual]);
  const spoilt = {sorted: [...usual.sorted.slice(1), 9000]};
  assert.ok(strip_range([spoilt])[1] < 1.2 * high);
  const [low, top] = strip_range([{sorted: [5, 5, 5]}]);
  assert.ok(low < 5 && top > 5);
  assert.deepEqual(strip_range([]), [0, 1]);
});

test('a strip is made of the data of its launches', () => {
  const launches = [{steps: 5, warm_up: 2, sorted_ns: [3, 4, 5]}, {steps: 1, warm_up: 0}];
  const strip = strip_of('A', launches, 'compute', {head: true});
  assert.deepEqual([strip.sorted, strip.all, strip.head], [[3, 4, 5], 4, true]);
});
