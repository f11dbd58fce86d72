// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {glossary_terms} from '../../glossary_terms.js';
import {use_terms} from '../../terms.js';
import {bubble_row} from './pipeline.js';

use_terms(glossary_terms());

test('a stage is shown by its means a step', () => {
  const parts = (idle, message, wait) => ({idle, message, wait});
  const row = bubble_row({
    stage: 1, rank: 3, wall_ns: 200, bubble_ns: 60, work_ns: 140, fill_ns: parts(10, 0, 0),
    between_ns: parts(20, 6, 4), drain_ns: parts(20, 0, 0),
    due_to_ns: {schedule: 50, imbalance: -4, links: null}
  }, 2);
  assert.equal(row.wall, 100);
  assert.deepEqual([row.idle, row.message, row.wait], [25, 3, 2]);
  assert.deepEqual([row.schedule, row.imbalance, row.links], [25, -2, null]);
  assert.deepEqual(row.parts.map((p) => [p.label, p.ns]),
    [['fill', 5], ['work', 70], ['between its passes', 15], ['drain', 10]]);
});
