// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {launches_in_order} from './page.js';

test('launches stand in the order they ran', () => {
  const values = [{value: '1', launches: [{name: 'a'}, {name: 'b'}]},
                  {value: '2', launches: [{name: 'c'}]}];
  const order = launches_in_order({values, order: ['1', '2', '2', 'x', '1']});
  assert.deepEqual(order.map((l) => [l.value, l.name]), [['1', 'a'], ['2', 'c'], ['1', 'b']]);
});
