// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {glossary_terms} from '../../glossary_terms.js';
import {use_terms} from '../../terms.js';
import {roof_share, shape_text, types_text} from './operators.js';

use_terms(glossary_terms());

test('types in the words of the trade, each once, scalars left out', () => {
  assert.equal(types_text('["c10::BFloat16","c10::BFloat16","Scalar"]'), 'bf16');
  assert.equal(types_text('["float",["c10::Half","long int"]]'), 'fp32, fp16, …');
  assert.equal(types_text('["c10::Float8_e8m0fnu"]'), 'Float8_e8m0fnu');
  assert.equal(types_text('["c10::BFl'), '["c10::BFl');  // truncated by the profiler
  assert.equal(types_text('bf16'), 'bf16');
  assert.equal(types_text(null), null);
});

test('shapes of tensors only', () => {
  assert.equal(shape_text('[[4096,14336],[],[1]]'), '[4096, 14336] [1]');
  assert.equal(shape_text('[256, 4096] [4096, 1024]'), '[256, 4096] [4096, 1024]');
  assert.equal(shape_text(null), null);
});

test('the roofline share is of what binds', () => {
  const row = {peak_share: 0.5, bandwidth_share: 0.2};
  assert.equal(roof_share({...row, bound: 'compute'}), 0.5);
  assert.equal(roof_share({...row, bound: 'memory'}), 0.2);
  assert.equal(roof_share({...row, bound: null}), null);
});
