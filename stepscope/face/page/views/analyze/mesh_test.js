// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {blocks_of, coordinates, mesh_of, slowest_groups} from './mesh.js';

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

const group = (ranks, count, of_siblings = 1) => ({
  name: String(ranks[0]), size: ranks.length, ranks,
  rates: [{name: 'all_reduce', bytes: 4096, transfer_ns: 10, count, of_siblings}]});

test('without roles the groups of consecutive ranks that talk most stand together', () => {
  const ranks = [...Array(4).keys()].map((rank) => ({rank}));
  const groups = [group([0, 2], 90), group([1, 3], 90), group([0, 1], 5), group([2, 3], 5),
                  group([0, 1, 2, 3], 200)];
  assert.deepEqual([...blocks_of({ranks, groups}).index], [[0, 0], [1, 1], [2, 0], [3, 1]]);
  assert.equal(blocks_of({ranks, groups: groups.slice(0, 3)}).size, 1);
});

test('a rank has the colour of its slowest group', () => {
  const found = slowest_groups([group([0, 1], 4), group([2, 3], 4, 0.25), group([0, 2], 4)]);
  assert.equal(found.get(0).slower, 0);
  assert.equal(found.get(2).slower, 3);
  assert.equal(found.get(3).group.name, '2');
});
