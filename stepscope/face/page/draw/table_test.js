// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {present, table_rows} from './table.js';

const rows = [{name: 'gemm', ns: 3}, {name: 'copy', ns: null}, {name: 'all gather', ns: 7},
              {name: 'gather', ns: 3}];
const columns = [{label: 'Name', value: (r) => r.name}, {label: 'Time', value: (r) => r.ns}];
const table = {rows, columns, haystack: rows.map((r) => r.name)};
const names = (asked) => table_rows(table, {words: [], sort: -1, down: true, ...asked})
    .map((r) => r.name);

test('without a wish the rows stand as they came', () => {
  assert.deepEqual(names({}), ['gemm', 'copy', 'all gather', 'gather']);
});

test('numbers sort largest first, what is unknown last either way', () => {
  assert.deepEqual(names({sort: 1}), ['all gather', 'gemm', 'gather', 'copy']);
  assert.deepEqual(names({sort: 1, down: false}), ['gemm', 'gather', 'all gather', 'copy']);
  assert.deepEqual(names({sort: 0, down: false}), ['all gather', 'copy', 'gather', 'gemm']);
});

test('a row stays where it holds every word', () => {
  assert.deepEqual(names({words: ['gather']}), ['all gather', 'gather']);
  assert.deepEqual(names({words: ['gather', 'all']}), ['all gather']);
  assert.deepEqual(names({words: ['none']}), []);
});

test('optional columns that every row leaves empty are left out', () => {
  const more = [...columns, {label: 'Rate', optional: true, value: (r) => r.rate},
                {label: 'Of', optional: true, value: (r) => r.ns}];
  assert.deepEqual(present(more, rows).map((c) => c.label), ['Name', 'Time', 'Of']);
});
