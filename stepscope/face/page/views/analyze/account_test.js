// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {glossary_terms} from '../../glossary_terms.js';
import {use_terms} from '../../terms.js';
import {account_of} from './account.js';

use_terms(glossary_terms());

test('with MFU the account falls from the peak to the model FLOPs', () => {
  const account = account_of({job: {steps: [{}, {}]}, mfu: {
    mfu: 0.4, step_ns: 1000,
    terms: [{name: 'exposed_wait', ns: 600, percent: 60}, {name: 'mfu', ns: 400, percent: 40,
                                                           gpu_hours_per_day: 3}]
  }});
  assert.equal(account.top, 'the peak of the device');
  assert.equal(account.whole, 1000);
  assert.deepEqual(account.kept.map((r) => r.name), ['mfu']);
  assert.deepEqual(account.rows.map((r) => [r.label, r.share]),
    [['waiting for peers', 0.6], ['model FLOPs (MFU)', 0.4]]);
  assert.equal(account.priced, true);
  assert.equal(account.money, false);
});

test('a day of one step is not counted', () => {
  const account = account_of({job: {steps: [{}]}, mfu: {
    mfu: 0.4, step_ns: 1000,
    terms: [{name: 'mfu', ns: 400, percent: 40, gpu_hours_per_day: 3}]
  }});
  assert.equal(account.priced, false);
});

test('without it the time budget falls to what computes', () => {
  const account = account_of({mfu: null, job: {budget_ns: {compute: 60, comm_overlapped: 20,
                                                           idle_host: 20}}});
  assert.equal(account.whole, 100);
  assert.deepEqual(account.kept.map((r) => [r.name, r.share]),
    [['comm_overlapped', 0.2], ['compute', 0.6]]);
  assert.equal(account.rows.find((r) => r.name === 'idle_host').share, 0.2);
});

test('without it each loss has its GPU-hours, and money with a price', () => {
  const account = account_of({mfu: null, job: {
    budget_ns: {compute: 75, idle_data: 25},
    budget_per_day: {compute: {gpu_hours_per_day: 36, money_per_day: null},
                     idle_data: {gpu_hours_per_day: 12, money_per_day: null}}
  }});
  assert.equal(account.priced, true);
  assert.equal(account.money, false);
  assert.equal(account.rows.find((r) => r.name === 'idle_data').term.gpu_hours_per_day, 12);
});

test('nothing measured, no account', () => {
  assert.equal(account_of({mfu: null, job: {budget_ns: {}}}), null);
});
