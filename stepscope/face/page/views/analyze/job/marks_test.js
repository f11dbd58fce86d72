// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {first_marks, marks_of_findings} from './marks.js';

test('a finding marks its places, or the one it has; faults are on top', () => {
  const place = (rank, start_ns) => ({rank, start_ns, ns: 5});
  const marks = marks_of_findings({findings: [
    {key: 'slow_rank:3', sort: 'fault', what: 'slow', place: place(3, 7),
     places: [place(3, 0), place(3, 10)]},
    {key: 'sync_calls', sort: 'opportunity', what: 'sync', place: place(1, 2), places: []},
    {key: 'memory', sort: 'opportunity', what: 'memory', place: null, places: []}]});
  assert.deepEqual(marks.map((m) => [m.key, m.rank, m.start_ns, m.fault]),
    [['sync_calls', 1, 2, false], ['slow_rank:3', 3, 0, true], ['slow_rank:3', 3, 10, true]]);
  assert.deepEqual(first_marks(marks).map((m) => [m.key, m.start_ns]),
    [['slow_rank:3', 0], ['sync_calls', 2]]);
  assert.deepEqual(marks_of_findings({}), []);
});
