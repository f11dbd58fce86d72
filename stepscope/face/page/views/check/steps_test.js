// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {change_marks, first_counted} from './steps.js';

test('a change stands at the column that holds its iteration', () => {
  const columns = [{first: 10, last: 19}, {first: 20, last: 29}];
  const change = (iteration) => ({iteration, before_ns: 1e6, after_ns: 2e6});
  assert.deepEqual(change_marks(columns, [change(20), change(5)]).map((m) => m.index), [1]);
  assert.match(change_marks(columns, [change(12)])[0].name, /^from 12: /);
  assert.deepEqual(change_marks([{first: 0, last: 9}], [{iteration: null}]), []);
});

test('the warm-up ends at its share of the columns', () => {
  const columns = Array(10).fill({});
  assert.equal(first_counted({steps: 10, warm_up: 3, columns}), 3);
  assert.equal(first_counted({steps: 1000, warm_up: 150, columns}), 1);
  assert.equal(first_counted({steps: 10, warm_up: 0, columns}), 0);
  assert.equal(first_counted({steps: 0, warm_up: 0, columns: []}), 0);
});
