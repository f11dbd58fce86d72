// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {
  accused_groups, families, group_title, is_accused, share_of_siblings
} from './group_rates.js';

const rate = (transfer_ns, of_siblings, more = {}) => ({
  name: 'all_reduce', bytes: 4000, count: 4, transfer_ns, busbw_gb_per_s: 1000 / transfer_ns,
  of_siblings, ...more});
const group = (name, ranks, ...rates) => (
  {name, description: null, dimension: 'tp', size: ranks.length, ranks, rates});

test('siblings that send the same messages stand together, by their first rank', () => {
  const groups = [group('b', [2, 3], rate(10, 1)), group('a', [0, 1], rate(40, 0.25)),
                  group('c', [4, 5], rate(10, 1), rate(90, null, {bytes: 7})),
                  group('d', [6, 7, 8], rate(10, null))];
  const found = families(groups);
  assert.deepEqual(found.map((f) => [f.kind, f.bytes, f.size]), [['all_reduce', 4000, 2]]);
  assert.deepEqual(found[0].bars.map((b) => b.group.name), ['a', 'b', 'c']);
  assert.equal(found[0].time, 240);
});

test('what takes longest weighs most', () => {
  assert.equal(share_of_siblings(group('a', [0, 1], rate(100, 0.5), rate(100, 1))), 0.75);
  assert.equal(share_of_siblings(group('a', [0, 1], rate(100, null))), null);
});

test('messages of a few bytes show no bandwidth', () => {
  const groups = [group('a', [0, 1], rate(10, 0.3, {bytes: 8})),
                  group('b', [2, 3], rate(3, 3, {bytes: 8}))];
  assert.deepEqual(families(groups), []);
  assert.equal(share_of_siblings(groups[0]), null);
});

test('a name that several groups share needs the rank', () => {
  const report = {answer: {verdict: {kind: 'slow_rank', ranks: [1], alternatives: [
    {kind: 'slow_group', group: 'mesh_tp', ranks: [2, 3]}]}}};
  const accused = accused_groups(report);
  assert.equal(is_accused(group('mesh_tp', [0, 1]), accused), false);
  assert.equal(is_accused(group('mesh_tp', [2, 3]), accused), true);
  assert.equal(is_accused(group('mesh_tp', []), accused), true);
  assert.equal(is_accused(group('dp', [2, 3]), accused), false);
});

test('hashes are shortened, and ranks follow the name', () => {
  assert.equal(group_title(group('84', [3, 4])), '84, ranks 3–4 (2)');
  assert.equal(group_title(group('0123456789abcdef0123456789abcdef01234567', [])), '01234567…');
});
