// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {coordinates, mesh_of} from './mesh.js';

test('a role gives the coordinates', () => {
  assert.deepEqual(coordinates('tp3.pp12'), {tp: 3, pp: 12});
  assert.deepEqual(coordinates('pp1'), {tp: 0, pp: 1});
  assert.deepEqual(coordinates('all'), {tp: 0, pp: 0});
});

test('a rank that others wait for stands out, and those that wait do not', () => {
  const rank = (number, wait, role) => ({
    rank: number, role, steps: [{wall_ns: 100}, {wall_ns: 100}],
    budget_ns: {compute: 200 - wait, comm_exposed_wait: wait}
  });
  const ranks = [rank(0, 60, 'pp0'), rank(1, 0, 'pp0'), rank(2, 60, 'pp0'), rank(3, 10, 'pp1')];
  const cells = mesh_of({ranks});
  assert.deepEqual(cells.map((c) => c.more), [0, 30, 0, 0]);
  assert.deepEqual(cells.map((c) => c.replica), [0, 1, 2, 0]);
  assert.equal(cells[3].pp, 1);
});
