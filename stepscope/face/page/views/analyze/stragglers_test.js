// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {with_punctual} from './stragglers.js';

test('ranks that are never late stand on the map too', () => {
  const late = [{rank: 1, late_ns: 5, steps: [{index: 3, late_ns: 5}]}];
  const ranks = [{rank: 0, steps: [{index: 3}]}, {rank: 1, steps: [{index: 3}]}];
  assert.deepEqual(with_punctual(late, ranks),
    [late[0], {rank: 0, late_ns: 0, steps: [{index: 3, late_ns: 0}]}]);
});
