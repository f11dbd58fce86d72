// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {has_incident, place_of} from './incident.js';

const nothing = {timeline: [], last_lines: [], out_of_memory: [], ras: [], standing: []};

test('files that tell of calls alone have no section of errors', () => {
  assert.equal(has_incident({incident: nothing}), false);
  assert.equal(has_incident({incident: {...nothing, ras: ['rank 3 is silent']}}), true);
});

test('a row is at its line of its file', () => {
  assert.equal(place_of([{path: 'a/b/train.log'}], {input: 0, line: 12}), 'train.log:12');
  assert.equal(place_of([], {input: 0, line: 12}), null);
});
