// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {is_term, keys_of, label_of, term} from './terms.js';

test('a key has a label and, where it needs one, a meaning', () => {
  assert.equal(label_of('budget', 'idle_host'), 'idle: host');
  assert.equal(term('mfu', 'exposed_wait').what, term('budget', 'comm_exposed_wait').what);
  for (const key of keys_of('budget')) {
    assert.ok(term('budget', key).short, key);
    assert.ok(term('budget', key).what.endsWith('.'), key);
  }
});

test('a key that the page does not know is called by its own words', () => {
  assert.deepEqual(term('budget', 'idle_for_fun'), {label: 'idle for fun', what: ''});
  assert.equal(label_of('step_class', 'tensor_comm_2'), 'tensor comm 2');
});

test('names of the language itself are no terms', () => {
  assert.equal(is_term('dtype', 'constructor'), false);
  assert.equal(label_of('dtype', 'toString'), 'toString');
});
