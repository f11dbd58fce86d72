// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {use_terms} from '../../../terms.js';
import {alike_note, alike_ranks, bundled_rows, mean_row, middle} from './alike.js';

const keys = ['compute', 'comm_overlapped', 'comm_exposed_wait', 'comm_exposed_transfer',
              'idle_host'];
use_terms({budget: Object.fromEntries(keys.map((key) => [key, {label: key}]))});

// A rank of 100 ns a step: it computes so long, and else it waits for others.
const rank = (number, compute, more = {}) => ({
  rank: number, role: 'all', steps: [0, 1].map((index) => ({index, wall_ns: 100, budget_ns: {
    compute, comm_exposed_wait: 100 - compute - (more.idle_host || 0), ...more}}))
});
const job = (ranks, verdict) => ({ranks, answer: {verdict}, stragglers: []});
const bundles = (report) => alike_ranks(report).bundles.map((b) => b.ranks);

test('ranks that do the same share a row, others do not', () => {
  const ranks = [rank(0, 50), rank(1, 51), rank(2, 70), rank(3, 50), rank(4, 71)];
  assert.deepEqual(bundles(job(ranks)), [[0, 1, 3], [2, 4]]);
});

test('how much of the communication is hidden does not matter', () => {
  const hides = rank(1, 30);
  for (const x of hides.steps) {
    x.budget_ns.comm_overlapped = 20;
    x.budget_ns.comm_exposed_wait = 10;
    x.budget_ns.comm_exposed_transfer = 40;
  }
  assert.deepEqual(bundles(job([rank(0, 50), hides])), [[0, 1]]);
});

test('the accused rank is alone and comes first, though it behaves like others', () => {
  const ranks = [...Array(256).keys()].map((n) => rank(n, 50));
  const found = alike_ranks(job(ranks, {kind: 'slow_rank', ranks: [86], alternatives: []}));
  assert.deepEqual(found.bundles.map((b) => [b.ranks.length, b.accused]),
    [[1, true], [255, false]]);
  assert.deepEqual(found.bundles[0].ranks, [86]);
});

test('many accused ranks share rows among themselves only', () => {
  const ranks = [...Array(16).keys()].map((n) => rank(n, 50));
  const group = [3, 7, 11, 14, 15];
  const found = alike_ranks(job(ranks, {kind: 'slow_group', ranks: group}));
  assert.deepEqual(found.bundles[0], {ranks: group, accused: true});
  assert.equal(found.bundles.length, 2);
});

test('a fault of all ranks accuses none', () => {
  const ranks = [rank(0, 50), rank(1, 50)];
  const found = alike_ranks(job(ranks, {kind: 'data_loader', ranks: [0, 1]}));
  assert.deepEqual(found.bundles, [{ranks: [0, 1], accused: false}]);
});

test('without a verdict late ranks are apart', () => {
  const report = job([0, 1, 2].map((n) => rank(n, 50)), null);
  report.stragglers = [{rank: 1, late_ns: 9, significant: true},
                       {rank: 2, late_ns: 5, significant: false}];
  assert.deepEqual(alike_ranks(report).bundles.map((b) => b.ranks), [[1], [0, 2]]);
});

test('roles stay apart while that leaves few rows', () => {
  const roles = (n) => [...Array(n).keys()].map((i) => ({...rank(i, 50), role: `pp${i}`}));
  assert.equal(alike_ranks(job(roles(4))).bundles.length, 4);
  assert.equal(alike_ranks(job(roles(64))).bundles.length, 1);
});

test('however different the ranks are, their rows are few', () => {
  const ranks = [...Array(1000).keys()].map((n) => rank(n, (97 * n) % 100));
  const {bundles: found, tolerance} = alike_ranks(job(ranks));
  assert.ok(found.length <= 24, String(found.length));
  assert.ok(tolerance > 0.02);
  assert.equal(found.flatMap((b) => b.ranks).length, 1000);
  assert.match(alike_note({tolerance, bundles: found}), /to (5|10|20) % of a step/);
});

test('rows of a bundle become their mean', () => {
  const rows = [{rank: 0, a: 1, host: {x: 2, bound: true}, parts: [{ns: 1, label: 'fill'}]},
                {rank: 1, a: 3, host: {x: 4, bound: false}, parts: [{ns: 3, label: 'fill'}]}];
  const both = {a: 2, host: {x: 3, bound: null}, parts: [{ns: 2, label: 'fill'}]};
  assert.deepEqual(mean_row(rows), {rank: 0.5, ...both});
  const together = [{ranks: [0, 1], accused: true}];
  assert.deepEqual(bundled_rows(rows, together),
    [{...both, rank: 0, ranks: [0, 1], accused: true}]);
  const apart = bundled_rows(rows, together, {key_of: (r) => r.a});
  assert.deepEqual(apart.map((r) => r.ranks), [[0], [1]]);
  assert.deepEqual(bundled_rows([{rank: 9}], together), [{rank: 9, ranks: [9], accused: false}]);
});

test('the lower one of two middle values', () => {
  assert.equal(middle([5, 1, 3]), 3);
  assert.equal(middle([4, 1]), 1);
  assert.equal(middle([]), 0);
});
