// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {rounded_together} from './waterfall.js';

test('the percentages of a waterfall sum to the whole', () => {
  const rows = rounded_together([{name: 'a', share: 1 / 3}, {name: 'b', share: 2 / 3}]);
  assert.deepEqual(rows.map((r) => r.shown), ['33.3\u202f%', '66.7\u202f%']);
  assert.deepEqual(rows.map((r) => r.name), ['a', 'b']);
});
