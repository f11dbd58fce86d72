// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {glossary_terms} from './glossary_terms.js';
import {is_term, keys_of, label_of, term, use_terms} from './terms.js';

test('terms come from the data', () => {
  const idle = {label: 'waiting for the host', brief: 'host', explanation: 'Idle.'};
  use_terms({budget: {idle_host: idle}});
  assert.deepEqual(keys_of('budget'), ['idle_host']);
  assert.deepEqual(term('budget', 'idle_host'), idle);
});

test('a key without a label is called by its own words', () => {
  use_terms({step_class: {tensor_comm: {label: 'tensor-parallel communication'}}});
  assert.deepEqual(
    term('step_class', 'tensor_comm'),
    {label: 'tensor-parallel communication', brief: 'tensor-parallel communication',
      explanation: ''});
  assert.equal(label_of('step_class', 'tensor_comm_2'), 'tensor comm 2');
  assert.equal(label_of('nothing', 'idle_for_fun'), 'idle for fun');
});

test('names that every object has are no terms', () => {
  use_terms({dtype: {}});
  assert.equal(is_term('dtype', 'constructor'), false);
  assert.equal(is_term('constructor', 'name'), false);
  assert.equal(label_of('dtype', 'toString'), 'toString');
});

test('data without terms draws', () => {
  use_terms(undefined);
  assert.deepEqual(keys_of('budget'), []);
});

test('the glossary explains every category of the budget', () => {
  const {budget} = glossary_terms();
  assert.equal(Object.keys(budget).length, 13);
  for (const [key, {explanation}] of Object.entries(budget))
    assert.ok(explanation.endsWith('.'), key);
});
