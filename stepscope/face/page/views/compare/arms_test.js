// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {strips_of} from './arms.js';

const launch = (name, ...sorted_ns) => ({name, steps: sorted_ns.length, warm_up: 0, sorted_ns});

test('an arm has a strip, and each of its launches if there are several', () => {
  const strips = strips_of({
    a: {label: 'a.csv', launches: [launch('a.csv', 1, 2)]},
    b: {label: 'b1.csv', launches: [launch('b1.csv', 3, 4), launch('b2.csv', 5)]}
  });
  assert.deepEqual(strips.map((x) => [x.name, x.sorted, Boolean(x.head)]), [
    ['A: a.csv', [1, 2], true], ['B: 2 launches', [3, 4, 5], true], ['B: b1.csv', [3, 4], false],
    ['B: b2.csv', [5], false]]);
});

test('of many launches the first have strips', () => {
  const many = {label: 'x', launches: Array.from({length: 30}, (_, i) => launch(`${i}`, i + 1))};
  assert.equal(strips_of({a: many, b: {label: 'y', launches: []}}).length, 1 + 12 + 1);
});
