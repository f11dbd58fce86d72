// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {
  columns_of, first_at_least, fold_all, lay_out, matches_in, timeline_model, toggle, unfold_rank
} from './timeline_layout.js';

test('columns are sorted by start and know the latest end so far', () => {
  const track = {rows: [[50, 10, 'copy', 2, 1], [0, 100, 'matmul', 0, null], [20, 5, 'norm']]};
  const c = columns_of(track);
  assert.deepEqual([...c.start], [0, 20, 50]);
  assert.deepEqual([...c.dur], [100, 5, 10]);
  assert.deepEqual([...c.reach], [100, 100, 100]);
  assert.deepEqual(c.kind, ['matmul', 'norm', 'copy']);
  assert.deepEqual([...c.name], [0, -1, 2]);
  assert.deepEqual([...c.step], [-1, -1, 1]);
  assert.equal(columns_of(track), c);
});

test('the search finds the first value that is not smaller', () => {
  const values = Float64Array.from([1, 3, 3, 8]);
  assert.deepEqual([0, 1, 2, 3, 4, 9].map((v) => first_at_least(values, v)), [0, 0, 1, 1, 3, 4]);
  assert.equal(first_at_least(new Float64Array(0), 1), 0);
});

const track = (rank, kind, label, rows = [[0, 1, 'other', 0]]) => ({rank, kind, label, rows});

test('ranks in order, device work first, then the main thread', () => {
  const model = timeline_model({
    tracks: [track(1, 'host', 'worker'), track(1, 'host', 'main thread'),
             track(1, 'compute', 'stream 7', [[5, 20, 'matmul', 0]]), track(0, 'copy', 'copies'),
             track(0, 'communication', 'nccl', [[-3, 1, 'communication', 0]])],
    steps: [{rank: 0, index: 4, start_ns: 2, wall_ns: 40}]
  });
  assert.deepEqual(model.groups.map((g) => g.rank), [0, 1]);
  assert.deepEqual(model.groups[1].tracks.map((t) => t.label),
    ['stream 7', 'main thread', 'worker']);
  assert.deepEqual(model.groups[0].tracks.map((t) => t.kind), ['communication', 'copy']);
  assert.deepEqual([model.from, model.to], [-3, 42]);
  assert.ok(model.groups.every((g) => g.open));
  assert.deepEqual(model.names, []);
});

test('many tracks begin folded', () => {
  const tracks = [...Array(25).keys()].map((rank) => track(rank, 'compute', 'stream 7'));
  assert.ok(timeline_model({tracks}).groups.every((g) => !g.open));
});

test('lanes stand below each other and do not overlap', () => {
  const {groups} = timeline_model({
    tracks: [track(0, 'compute', 'stream 7'), track(0, 'host', 'main'),
             track(1, 'compute', 'stream 7'), track(1, 'communication', 'nccl')]
  });
  groups[1].open = false;
  const {lanes, height} = lay_out(groups);
  const heads = lanes.filter((l) => l.kind === 'head');
  assert.deepEqual(heads.map((l) => l.group.rank), [0, 1]);
  const of_rank = (rank) => lanes.filter((l) => l.kind === 'track' && l.group.rank === rank);
  for (const rank of [0, 1]) {
    const own = of_rank(rank);
    assert.equal(own.length, 2);
    assert.ok(own[0].y + own[0].height <= own[1].y);
  }
  // An open rank's tracks are below its head; a folded rank's tracks are inside it.
  assert.ok(of_rank(0)[0].y >= heads[0].y + heads[0].height);
  assert.ok(of_rank(1)[1].y + of_rank(1)[1].height <= heads[1].y + heads[1].height);
  assert.ok(heads[1].y >= of_rank(0)[1].y + of_rank(0)[1].height);
  assert.equal(height, heads[1].y + heads[1].height);
});

test('a folded rank without device work shows its main thread', () => {
  const {groups} = timeline_model(
    {tracks: [track(0, 'host', 'loader'), track(0, 'host', 'main thread')]});
  groups[0].open = false;
  const shown = lay_out(groups).lanes.filter((l) => l.kind === 'track');
  assert.deepEqual(shown.map((l) => l.track.label), ['main thread']);
});

const four_ranks = () => timeline_model(
  {
    tracks: [0, 1, 2, 3].map(
      (rank) => track(rank, 'compute', 'stream 7', [[rank, 1, 'matmul', 0]])),
    steps: [{rank: 2, index: 4, start_ns: 2, wall_ns: 40}]
  },
  [{ranks: [3], accused: true}, {ranks: [0, 1, 2], accused: false}],
  [{rank: 3, start_ns: 0, ns: 1}, {rank: 1, start_ns: 0, ns: 1}]);

test('ranks that share a lane show the one with most steps until they are unfolded', () => {
  const {groups} = four_ranks();
  assert.deepEqual(groups.map((g) => g.ranks), [[3], [0, 1, 2]]);
  assert.deepEqual(groups.map((g) => [g.accused, g.marks.length]), [[true, 1], [false, 1]]);
  const heads = () => lay_out(groups).lanes.filter((l) => l.kind === 'head')
      .map((l) => l.group.rank);
  assert.deepEqual(heads(), [3, 0]);
  const [shown] = lay_out(groups).lanes.filter((l) => l.kind === 'track' && l.group === groups[1]);
  assert.equal(shown.track.rank, 2);
  toggle(groups[1]);
  assert.deepEqual(heads(), [3, 0, 0, 1, 2]);
  toggle(groups[1]);
  assert.equal(unfold_rank(groups, 1).rank, 1);
  assert.ok(groups[1].spread && groups[1].members[1].open);
  assert.equal(unfold_rank(groups, 9), null);
  fold_all(groups, false);
  assert.deepEqual(heads(), [3, 0]);
});

test('a search finds what the lanes show, by time', () => {
  const {groups} = four_ranks();
  const found = () => matches_in(lay_out(groups).lanes, new Set([0])).map((m) => m.start);
  assert.deepEqual(found(), [2, 3]);
  toggle(groups[1]);
  assert.deepEqual(found(), [0, 1, 2, 3]);
  assert.deepEqual(matches_in(lay_out(groups).lanes, new Set([1])), []);
});
