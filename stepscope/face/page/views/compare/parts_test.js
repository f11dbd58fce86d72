// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {falls} from './parts.js';

const part = (name, difference_ns) => ({name, difference_ns});

test('each change begins where the one before it ended, the largest first', () => {
  const rows = falls([part('x', -2), part('y', 5), part('z', 0), part('w', 1)]);
  assert.deepEqual(rows.map((r) => [r.name, r.from, r.ns]),
    [['y', 0, 5], ['x', 5, -2], ['w', 3, 1]]);
});

test('small changes are one row, and the rows sum to the difference', () => {
  const rows = falls([part('a', 9), part('b', -1), part('c', 2), part('d', 1)], 2);
  assert.deepEqual(rows.map((r) => [r.name, r.ns]), [['a', 9], ['c', 2], [null, 0]]);
  assert.equal(rows[2].of, 2);
  assert.deepEqual(falls([]), []);
  assert.deepEqual(falls([part('a', null), part('b', NaN)]), []);
});
