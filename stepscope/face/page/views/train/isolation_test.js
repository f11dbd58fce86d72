// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {isolation_rows} from './isolation.js';

test('both together are the sum of the other rows', () => {
  const of = (mean_ns) => ({mean_ns, min_ns: mean_ns - 1, max_ns: mean_ns + 1});
  const rows = new Map(isolation_rows({
    compute: of(70), communication: of(30), both: of(95), exposed: of(20), hidden_ns: 10,
    contention_ns: 5
  }).map((r) => [r.name, r.ns]));
  assert.equal(rows.get('Both together'), rows.get('Compute alone') +
      rows.get('Communication alone') - rows.get('Hidden by overlap') +
      rows.get('Cost of contention'));
});
