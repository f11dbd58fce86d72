// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {as_analysis} from './as_analysis.js';

test('ranks have their steps and the means of all counted steps', () => {
  const report = {
    schema: 'stepscope.train/1',
    answer: {verdict: null},
    means: {budget_ns: {compute: 9}, ranks: [{rank: 1, budget_ns: {compute: 8}}]},
    steps: [{index: 4, wall_ns: 12, loss: 3}],
    rank_steps: [{rank: 1, index: 4, wall_ns: 11, budget_ns: {compute: 11}},
                 {rank: 0, index: 4, wall_ns: 12, budget_ns: {compute: 12}}]
  };
  const analysis = as_analysis(report);
  assert.deepEqual(analysis.ranks.map((r) => [r.rank, r.steps.length]), [[0, 1], [1, 1]]);
  assert.deepEqual(analysis.ranks[1].mean_budget_ns, {compute: 8});
  assert.deepEqual(analysis.job.steps, [{index: 4, wall_ns: 12}]);
  assert.equal(analysis.job.budget_ns.compute, 9);
});
