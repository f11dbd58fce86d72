// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {none} from '../../../format/numbers.js';
import {use_terms} from '../../../terms.js';
import {lacking, part_of} from './recording.js';

test('a part of nothing is a dash', () => {
  assert.equal(part_of(0, 0), none);
  assert.equal(part_of(0, 4), '0 of 4');
});

test('a missing fact names the switch and what is not looked for', () => {
  use_terms({finding: {padding: {label: 'dimensions not aligned'}}});
  assert.deepEqual(
      lacking([
        {what: 'the shapes', record: 'record_shapes=True', findings: ['padding']},
        {what: 'other ranks', record: null, findings: []}
      ]),
      [
        'Not recorded: the shapes (record_shapes=True). Not looked for: dimensions not aligned.',
        'Not recorded: other ranks.'
      ]);
});
