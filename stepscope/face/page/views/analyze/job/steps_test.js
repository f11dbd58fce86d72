// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {band_of, long_steps, marked_steps, step_numbers, step_times} from './steps.js';

const step = (index, wall_ns, budget_ns = {}) => ({index, wall_ns, budget_ns});

test('a rank has a time for each step of the job, or none', () => {
  const report = {
    job: {steps: [{index: 7, wall_ns: 12}, {index: 8, wall_ns: 12}]},
    ranks: [{rank: 0, steps: [step(7, 10, {comm_exposed_wait: 3, comm_exposed_transfer: 1})]},
            {rank: 1, steps: [step(7, 11), step(8, 12), step(9, 13)]}, {rank: 2, steps: []}]
  };
  const numbers = step_numbers(report);
  assert.deepEqual(numbers, [7, 8, 9]);
  const whole = step_times(report, numbers, false);
  assert.deepEqual(whole.map((l) => l.times), [[10, null, null], [11, 12, 13]]);
  assert.deepEqual(step_times(report, numbers, true)[0].times, [6, null, null]);
  assert.deepEqual(band_of(whole)[0], {least: 10, middle: 10, most: 11});
  assert.deepEqual(band_of(whole)[2], {least: 13, middle: 13, most: 13});
});

test('a step is long by its ratio and by the variation of the others', () => {
  assert.deepEqual(long_steps([1, 2, 3, 4], [100, 101, 99, 150]).map((x) => x.index), [4]);
  assert.deepEqual(long_steps([1, 2, 3, 4], [100, 101, 99, 110]), []);
  // The others vary by the same amount.
  assert.deepEqual(long_steps([1, 2, 3, 4, 5], [100, 140, 60, 120, 170]), []);
  // Many long steps are no outliers.
  assert.deepEqual(long_steps([1, 2, 3, 4, 5], [100, 100, 100, 200, 200]), []);
  assert.deepEqual(long_steps([1, 2], [1, 100]), []);
});

test('the verdict names steps before their lengths do', () => {
  const report = {answer: {verdict: {
    kind: 'throttling', ranks: [9], steps: [3],
    alternatives: [{kind: 'outlier_step', steps: [4]}, {kind: 'slow_rank', steps: [1]}]}}};
  const marks = marked_steps(report, [1, 2, 3, 4, 5], [10, 10, 10, 30, 10]);
  assert.deepEqual(marks.map((m) => [m.index, m.named]), [[3, true], [4, false]]);
  assert.match(marks[0].text, /rank 9/);
  assert.match(marks[1].text, /outlier/);
  const unnamed = marked_steps({answer: null}, [1, 2, 3, 4, 5], [10, 10, 10, 30, 10]);
  assert.deepEqual(unnamed, [{index: 4, text: '3.0 × the median', named: false}]);
});
