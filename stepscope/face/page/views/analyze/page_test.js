// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {completed} from './page.js';

test('a report that lacks most of its keys still has what the sections rely on', () => {
  const report = completed({ranks: [{rank: 0}], job: {steps: null}});
  for (const key of ['inputs', 'warnings', 'collectives', 'stragglers', 'findings'])
    assert.deepEqual(report[key], []);
  assert.equal(report.job.ranks, 1);
  assert.deepEqual(report.job.steps, []);
  assert.deepEqual(report.ranks[0].steps, []);
});

test('what a report has stays', () => {
  const report = completed({ranks: [], warnings: ['w'], job: {ranks: 7, budget_ns: {compute: 1}}});
  assert.deepEqual(report.warnings, ['w']);
  assert.equal(report.job.ranks, 7);
  assert.deepEqual(report.job.budget_ns, {compute: 1});
});
