// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {
  capitalised, hyphened, kernel_name, notes_text, plain, plural, ranks_text, runs
} from './names.js';
import {none} from './numbers.js';

test('a key in words', () => {
  assert.equal(plain('idle_host'), 'idle host');
  assert.equal(hyphened('all_reduce'), 'all-reduce');
  assert.equal(plain(null), none);
  assert.equal(capitalised('all fetches'), 'All fetches');
  assert.equal(plural(1, 'step'), '1 step');
  assert.equal(plural(2000, 'step'), '2,000 steps');
  assert.equal(notes_text({bad_event: 3, cut_off: 1}), 'bad event: 3, cut off: 1');
  assert.equal(notes_text(null), '');
});

test('runs of whole numbers', () => {
  assert.equal(runs([0, 1, 2, 3, 7, 9, 10]), '0–3, 7, 9–10');
  assert.equal(runs([10, 9, 2]), '2, 9–10');
  assert.equal(runs([]), '');
});

test('ranks by their runs and their number', () => {
  assert.equal(ranks_text([5]), 'rank 5');
  assert.equal(ranks_text([0, 1, 2, 3, 8]), 'ranks 0–3, 8 (5)');
  assert.equal(ranks_text([0, 2, 4, 6], 2), 'ranks 0, 2, … (4)');
});

test('the report brings the short names of its kernels', () => {
  const report = {short_names: {'void a::gemm<float>(int)': 'gemm'}};
  assert.equal(kernel_name(report, 'void a::gemm<float>(int)'), 'gemm');
  assert.equal(kernel_name(report, 'aten::mm'), 'aten::mm');
  assert.equal(kernel_name(report, 'constructor'), 'constructor');
  assert.equal(kernel_name({}, 'gemm<1>'), 'gemm<1>');
});
