// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import test from 'node:test';

import {glossary_terms} from '../glossary_terms.js';
import {keys_of, label_of, use_terms} from '../terms.js';
import {
  bubble_colours, categories, colour_of_phase, look_of_collective, look_of_term,
  memory_use_colour, operation_class_colours, path_colour, phase_colours,
  predicted_memory_colours, predicted_step_colours, step_class_colours
} from './looks.js';

use_terms(glossary_terms());
const css = readFileSync(new URL('../page.css', import.meta.url), 'utf8');
const has_colour = (name) => new RegExp(`--${name}:`).test(css);

test('every colour that is named is defined', () => {
  const named = [
    ...categories().map((c) => c.key), ...keys_of('mfu').map((name) => look_of_term(name).colour),
    ...keys_of('kernel_class'),
    ...['all_reduce', 'all_gather', 'reduce_scatter', 'all_to_all', 'broadcast', 'send_recv',
        'reduce', 'gossip'].map((name) => look_of_collective(name).colour),
    ...['host', 'held', 'not recorded', 'copy', 'all_reduce'].map(path_colour),
    ...['parameters', 'activations', 'nothing of the kind'].map(memory_use_colour),
    ...keys_of('phase_kind').map((kind) => colour_of_phase({name: 'x', kind})),
    ...['python', 'native', 'unknown'].map((name) => colour_of_phase({name, kind: 'work'}))
  ];
  for (const table of [bubble_colours, operation_class_colours, phase_colours,
                       predicted_memory_colours, predicted_step_colours, step_class_colours])
    named.push(...Object.values(table));
  for (const name of named) assert.ok(has_colour(name), name);
});

test('what has a label has a colour', () => {
  for (const key of keys_of('bubble')) assert.ok(bubble_colours[key], key);
  for (const key of keys_of('predicted_memory')) assert.ok(predicted_memory_colours[key], key);
  for (const key of keys_of('step_class'))
    assert.ok(has_colour(step_class_colours[key] || key), key);
});

test('a term of the account looks like its category', () => {
  const wait = look_of_term('exposed_wait');
  assert.deepEqual([wait.colour, wait.pattern], ['comm_exposed_wait', 'hatched']);
  assert.equal(wait.label, label_of('budget', 'comm_exposed_wait'));
  const idle = look_of_term('idle_unexplained');
  assert.deepEqual([idle.colour, idle.pattern], ['idle_unexplained', 'dotted']);
  assert.deepEqual(look_of_term('unheard_of'),
    {label: 'unheard of', explanation: '', colour: 'other', pattern: undefined});
});
