// SPDX-License-Identifier: Apache-2.0
// A map of shares above and below zero: a rectangle for each row and column, red above, blue below.
// The arrow keys move over its cells and say what is there.

import {h, s} from './elements.js';
import {known, percent, signed_percent} from '../format/numbers.js';

const most_rows = 64;

// Where each of at most `most` parts of [0, n) begins, then n.
export function cuts(n, most) {
  const parts = Math.min(n, Math.max(1, most));
  return Array.from({length: parts + 1}, (_, i) => Math.floor((i * n) / Math.max(1, parts)));
}

// The cells with rows and columns joined: each is the value that is furthest from zero.
export function joined_cells(cells, row_cuts, column_cuts) {
  const furthest = (a, b) => (!known(b) || (known(a) && Math.abs(a) >= Math.abs(b)) ? a : b);
  return row_cuts.slice(0, -1).map((first, r) =>
    column_cuts.slice(0, -1).map((begin, c) => {
      let cell = null;
      for (let i = first; i < row_cuts[r + 1]; i++)
        for (let j = begin; j < column_cuts[c + 1]; j++) cell = furthest(cell, cells[i][j]);
      return cell;
    }));
}

// The share that has the full colour: a round one that 98 % of the cells do not exceed.
export function full_colour(cells) {
  const sizes = cells.flat().filter(known).map(Math.abs).sort((a, b) => a - b);
  const most = sizes.length ? sizes[Math.floor(0.98 * (sizes.length - 1))] : 0;
  return [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10].find((v) => v >= most) || 100;
}

const shade = (v, full) => {
  const share = Math.max(-1, Math.min(1, v / full));
  const colour = share >= 0 ? 'comm_exposed_wait' : 'compute';
  return {fill: `var(--${colour})`, 'fill-opacity': (0.92 * Math.abs(share)).toFixed(3)};
};

function cell_rect(frame, full, r, c, value) {
  const {left, wide, tall} = frame;
  const at = {x: left + c * wide, y: r * tall, width: wide, height: tall};
  const gap = wide > 5 && tall > 5 ? {class: 'cell'} : {};
  if (!known(value)) return s('rect', {...at, ...gap, class: 'lacking'});
  const room = wide >= 46 && tall >= 16;
  return [s('rect', {...at, ...gap, ...shade(value, full)}),
    room && s('text', {x: at.x + wide / 2, y: at.y + tall / 2 + 4, 'text-anchor': 'middle',
      class: Math.abs(value) > 0.6 * full ? 'on-dark' : null}, signed_percent(value))];
}

// Says and frames the cell that the arrow keys choose.
function keyboard(map, frame, rows, columns, words) {
  const cursor = s('rect', {class: 'cursor', width: frame.wide, height: frame.tall, fill: 'none'});
  const said = h('p', {class: 'note screen', 'aria-live': 'polite'},
    'With the map in focus, the arrow keys move over its cells.');
  let [r, c] = [0, 0];
  const moves = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
  map.addEventListener('keydown', (e) => {
    if (!Object.hasOwn(moves, e.key)) return;
    e.preventDefault();
    const [down, right] = cursor.isConnected ? moves[e.key] : [0, 0];
    r = Math.max(0, Math.min(rows - 1, r + down));
    c = Math.max(0, Math.min(columns - 1, c + right));
    cursor.setAttribute('x', frame.left + c * frame.wide);
    cursor.setAttribute('y', r * frame.tall);
    map.append(cursor);
    said.textContent = words(r, c);
  });
  return said;
}

// The cell under the pointer shows its words. Cells are too many for an element with a tip each.
function pointer(map, frame, rows, columns, words, tips) {
  map.addEventListener('pointermove', (e) => {
    const box = map.getBoundingClientRect();
    const scale = box.width > 0 ? frame.width / box.width : 1;
    const c = Math.floor(((e.clientX - box.left) * scale - frame.left) / frame.wide);
    const r = Math.floor(((e.clientY - box.top) * scale) / frame.tall);
    const inside = r >= 0 && r < rows && c >= 0 && c < columns;
    tips.at(inside ? words(r, c) : '', e.clientX, e.clientY);
  });
  map.addEventListener('pointerleave', () => tips.at('', 0, 0));
}

// options: {cells, row_name(first, last), row_mark(first), column_name(first, last),
// column_mark(first), spoken, caption}; names and marks are of places of rows and columns in
// `cells`.
export function heat_map(options, width, tips) {
  const {cells, row_name, column_name} = options;
  const across = cells.length ? cells[0].length : 0;
  const row_cuts = cuts(cells.length, most_rows);
  const left = 74;
  const column_cuts = cuts(across, Math.floor((width - left) / 4));
  const shown = joined_cells(cells, row_cuts, column_cuts);
  const [rows, columns] = [shown.length, column_cuts.length - 1];
  const wide = Math.min(64, (width - left - 2) / Math.max(1, columns));
  const tall = Math.max(5, Math.min(26, 480 / Math.max(1, rows)));
  const frame = {left, wide, tall, width: left + columns * wide + 2};
  const full = full_colour(shown);
  const words = (r, c) => `${row_name(row_cuts[r], row_cuts[r + 1] - 1)}, ` +
    `${column_name(column_cuts[c], column_cuts[c + 1] - 1)}: ${signed_percent(shown[r][c])}`;
  const down = Math.max(1, Math.ceil(14 / tall));
  const every = Math.max(1, Math.ceil(52 / wide));
  const foot = rows * tall;
  const map = s('svg', {class: 'heat', viewBox: `0 0 ${frame.width} ${foot + 22}`, tabindex: 0,
    role: 'img', style: {width: `${frame.width}px`}, 'aria-label': options.spoken},
  shown.map((row, r) => row.map((v, c) => cell_rect(frame, full, r, c, v))),
  shown.map((_, r) => r % down === 0 && s('text', {x: left - 8, y: r * tall + tall / 2 + 4,
    'text-anchor': 'end'}, options.row_mark(row_cuts[r]))),
  column_cuts.slice(0, -1).map((first, c) => c % every === 0 && s('text',
    {x: left + (c + 0.5) * wide, y: foot + 17, 'text-anchor': 'middle'},
    options.column_mark(first))));
  pointer(map, frame, rows, columns, words, tips);
  const joined = cells.length > rows || across > columns;
  return h('figure', null, map,
    h('figcaption', null, options.caption, ` −${percent(full)}`, h('span', {class: 'scale both'}),
      `+${percent(full)} and beyond.`,
      joined && ' A cell joins several ranks or steps and shows the deviation furthest from 0.'),
    keyboard(map, frame, rows, columns, words));
}
