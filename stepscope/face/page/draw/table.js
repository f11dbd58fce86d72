// SPDX-License-Identifier: Apache-2.0
// A table that sorts by any column, filters during typing, and draws no more rows than requested. A
// column: {label, value(row), show(row)?, text?, share?, class?, tip?}; `value` sorts and filters,
// `show` makes the cell (a string or a node), `share` draws a small bar for a value in [0, 1].
// Numbers sort largest first.

import {h, swatch} from './elements.js';
import {plural} from '../format/names.js';
import {count, known, largest, none} from '../format/numbers.js';

// The column of a member of the rows.
export const figure_column = (label, key, show, tip) =>
  ({label, value: (row) => row[key], show: (row) => show(row[key]), tip});

function name_cell(name, hue) {
  const brief = name.replace(/^void\s+/, '').replaceAll('(anonymous namespace)::', '');
  const button =
      h('button',
        {type: 'button', 'aria-expanded': 'false', 'data-tip': name.length > 34 ? name : null},
        hue && swatch(hue), brief);
  button.addEventListener('click', () => {
    const open = button.getAttribute('aria-expanded') !== 'true';
    button.setAttribute('aria-expanded', String(open));
    button.lastChild.data = open ? name : brief;
  });
  return button;
}

export function meter(share, hue) {
  const width = Math.max(0, Math.min(1, known(share) ? share : 0)) * 100;
  return h(
      'span', {class: 'meter', 'aria-hidden': 'true'},
      h('i', {style: {width: `${width}%`, '--c': `var(--${hue || 'accent'})`}}));
}

function cell(column, row) {
  const shown = column.show ? column.show(row) : column.value(row);
  const text = shown === null || shown === undefined || shown === '' ? none : shown;
  if (column.name)
    return h(
        'td', {class: `name${column.first ? ' first' : ''}`},
        text === none ? none : name_cell(String(text), column.hue && column.hue(row)));
  if (column.share)
    return h(
        'td', {class: 'number share'},
        meter(column.value(row) / column.full, column.hue && column.hue(row)),
        h('span', {class: 'beside'}, text));
  return h('td', {class: column.text ? column.class || 'text' : 'number'}, text);
}

function compare(column, down) {
  return (a, b) => {
    const x = column.value(a);
    const y = column.value(b);
    if (x === y) return 0;
    if (x === null || x === undefined) return 1;
    if (y === null || y === undefined) return -1;
    return (x < y ? -1 : 1) * (down ? -1 : 1);
  };
}

// "Show all 156", on paper "The first 25 of 156.", or the way back.
function more_rows(shown, found, change) {
  const all = found > shown;
  const button = {type: 'button', class: 'link', on: {click: () => change(all)}};
  return [all && h('span', {class: 'paper'}, `The first ${count(shown)} of ${count(found)}.`),
          h('button', button, all ? `Show all ${count(found)}` : 'Show fewer')].filter(Boolean);
}

// The rows that a table shows: those that contain every word of the filter, in the chosen order.
export function table_rows({rows, columns, haystack}, {words, sort, down}) {
  const found = words.length ?
      rows.filter((_, i) => words.every((w) => haystack[i].includes(w))) : rows;
  return sort < 0 ? found : [...found].sort(compare(columns[sort], down));
}

// options: {label, columns, rows, sort: column index (default none), down, limit, filter:
// placeholder or null}
export function data_table(options) {
  const {rows} = options;
  const few = options.limit || 25;
  // A share's bar is relative to the largest share of its column.
  const columns = options.columns.map((c) =>
    c.share ? {...c, full: largest(rows.map((r) => c.value(r))) || 1} : c);
  const words_of = (r) => columns.filter((c) => c.text || c.name).map((c) => c.value(r) ?? '');
  const haystack = options.filter && rows.map((r) => words_of(r).join('\n').toLowerCase());
  const state = {sort: options.sort ?? -1, down: options.down ?? true, limit: few, words: []};
  const head = (c, i) => h('th', {scope: 'col', class: c.text || c.name ? null : 'number'},
    h('button', {type: 'button', 'data-tip': c.tip, on: {click: () => sort_by(i)}}, c.label));
  const heads = columns.map(head);
  const body = h('tbody');
  const status = h('span', {role: 'status'});
  const more = h('p', {class: 'more'});
  const type = () => {
    state.words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    draw();
  };
  const said = {placeholder: options.filter, 'aria-label': `Filter ${options.label}`};
  const search = options.filter && h('input', {type: 'search', ...said, on: {input: type}});

  function sort_by(i) {
    const fresh = state.sort !== i;
    state.down = fresh ? !(columns[i].text || columns[i].name) : !state.down;
    state.sort = i;
    draw();
  }
  function draw() {
    const found = table_rows({rows, columns, haystack}, state);
    const shown = found.slice(0, state.limit);
    body.replaceChildren(...shown.map((row) => h('tr', null, columns.map((c) => cell(c, row)))));
    heads.forEach((th, i) => {
      if (i !== state.sort) th.removeAttribute('aria-sort');
      else th.setAttribute('aria-sort', state.down ? 'descending' : 'ascending');
    });
    const left = `${count(found.length)} of ${count(rows.length)}`;
    status.textContent = state.words.length ? left : plural(rows.length, 'row');
    const change = (all) => {
      state.limit = all ? found.length : few;
      draw();
    };
    const cut = found.length > shown.length || (state.limit > few && found.length > few);
    more.replaceChildren(...(cut ? more_rows(shown.length, found.length, change) : []));
  }
  draw();
  const small = columns.length <= 5 && !columns.some((c) => c.name);
  return h('div', {class: `table${small ? ' small' : ''}`},
    search && h('div', {class: 'tools'}, search, status),
    h('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': options.label},
      h('table', null, h('thead', null, h('tr', null, heads)), body)), more);
}

// Names and values in a grid: [label, value, remark?].
export function facts(rows) {
  return h(
      'dl', {class: 'facts'},
      rows.filter((r) => r && r[1] !== null && r[1] !== undefined)
          .map(
              ([label, value, remark]) =>
                  h('div', null, h('dt', null, label),
                    h('dd', null, value, remark && h('small', null, remark)))));
}

// Columns that are empty in every row are left out.
export function present(columns, rows) {
  const filled = (v) => v !== null && v !== undefined && v !== '';
  return columns.filter((c) => !c.optional || rows.some((r) => filled(c.value(r))));
}
