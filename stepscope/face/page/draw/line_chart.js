// SPDX-License-Identifier: Apache-2.0
// Lines over a row of steps: the frame, the axis of the steps' numbers, paths that break where a
// value lacks, and a chart of them.

import {grid_lines} from './chart.js';
import {h, s, swatch} from './elements.js';
import {known, largest, ticks} from '../format/numbers.js';

// The places of `count` values from `low` to `high`. `tail`: room for names at the right.
export function step_frame(count, [low, high], width, {height = 190, tail = 0} = {}) {
  const box = {left: 64, right: width - 14 - tail, top: 26, bottom: height - 24};
  const wide = (box.right - box.left) / Math.max(1, count);
  const x = (i) => box.left + (i + 0.5) * wide;
  const y = (v) =>
    box.bottom - ((v - low) / (high - low || 1)) * (box.bottom - box.top);
  return {height, box, x, y, wide, low, high};
}

// A little more than the values need. `zero`: the axis begins at 0.
export function range_of(values, zero) {
  const some = values.filter(known);
  if (!some.length) return [0, 1];
  const high = largest(some, -Infinity);
  if (zero) return [0, 1.08 * high || 1];
  const low = -largest(some.map((v) => -v), -Infinity);
  const room = 0.06 * (high - low) || Math.abs(high) * 0.1 || 1;
  return [low - room, high + room];
}

// The path of a line that breaks where a value lacks. A value between two gaps is a short dash.
export function path_of(values, {x, y}) {
  const at = (i, dx = 0) => `${(x(i) + dx).toFixed(1)},${y(values[i]).toFixed(1)}`;
  let out = '';
  for (let i = 0; i < values.length; i++) {
    if (!known(values[i])) continue;
    const [before, after] = [i > 0 && known(values[i - 1]), known(values[i + 1])];
    out += before ? `L${at(i)}` : after ? `M${at(i)}` : `M${at(i, -1.5)}L${at(i, 1.5)}`;
  }
  return out;
}

// The area between `least` and `most` of each entry of a band; entries may lack.
export function band_path(band, {x, y}) {
  const some = band.map((b, i) => ({b, i})).filter(({b}) => b);
  const at = (key) => ({b, i}) => `${x(i).toFixed(1)},${y(b[key]).toFixed(1)}`;
  return some.length ? `M${some.map(at('most')).join('L')}L${
      [...some].reverse().map(at('least')).join('L')}z` : '';
}

// The numbers of the steps, as many as have room.
export function step_axis({box, x, wide}, numbers) {
  const longest = largest(numbers.map((n) => String(n).length));
  const every = Math.max(1, Math.ceil(Math.max(52, 8 * longest + 12) / wide));
  return numbers.map((index, i) => i % every === 0 &&
    s('text', {x: x(i), y: box.bottom + 16, 'text-anchor': 'middle'}, index));
}

// Invisible columns with the figures of a step; `tip(i)` may lack.
export const step_columns = ({box, x, wide}, numbers, tip) => numbers.map((_, i) => tip(i) &&
  s('rect', {x: x(i) - wide / 2, y: box.top, width: wide, height: box.bottom - box.top,
    fill: 'transparent', 'data-tip': tip(i)}));

function mark_at({box, x}, {index, name}) {
  const late = x(index) > (box.left + box.right) / 2;
  return s('g', {class: 'step-mark', 'data-mark': name},
    s('line', {x1: x(index), x2: x(index), y1: box.top - 6, y2: box.bottom,
      stroke: 'var(--comm_exposed_wait)', 'stroke-dasharray': '2 3'}),
    s('text', {class: 'ink', x: x(index) + (late ? -5 : 5), y: box.top - 8,
      'text-anchor': late ? 'end' : 'start'}, name));
}

// options: {numbers, lines: [{name, values, colour, dots?}], band?: [{least, most}], band_name?,
// show(v), zero?, title, spoken, tip(i), height?, from?: {index, name}, marks?: [{index, name}]}.
// `from` shades the steps before it, a mark is an upright line.
export function line_chart(options, width) {
  const {numbers, lines, band = [], show} = options;
  const ends = band.flatMap((b) => (b ? [b.least, b.most] : []));
  const all = [...lines.flatMap((l) => l.values), ...ends];
  const [low, high] = range_of(all, options.zero);
  const frame = step_frame(numbers.length, [low, high], width, options);
  const {box, x, y, wide} = frame;
  const stroke = (l) => ({
    stroke: `var(--${l.colour})`, 'stroke-width': 1.6, 'data-line': l.name, fill: 'none',
    'stroke-linejoin': 'round'
  });
  const dots = (l) => l.values.map((v, i) => known(v) && s('circle', {
    cx: x(i), cy: y(v), r: 3.2, fill: `var(--${l.colour})`, stroke: 'var(--paper)'}));
  const before = options.from && options.from.index > 0 &&
      Math.min(box.right, box.left + options.from.index * wide);
  return h('figure', {class: 'lines'},
    s('svg', {viewBox: `0 0 ${width} ${frame.height}`, role: 'img', 'aria-label': options.spoken},
      before && s('rect', {class: 'shade', x: box.left, y: box.top, width: before - box.left,
        height: box.bottom - box.top}),
      before && s('text', {x: box.left + 4, y: box.top - 6}, options.from.name),
      grid_lines(box, ticks(low, high, 4), y, show), step_axis(frame, numbers),
      s('text', {x: 0, y: 12}, options.title),
      band.length > 0 && s('path', {d: band_path(band, frame), class: 'band'}),
      lines.map((l) => (l.dots ? dots(l) : s('path', {d: path_of(l.values, frame), ...stroke(l)}))),
      (options.marks || []).map((m) => mark_at(frame, m)),
      step_columns(frame, numbers, options.tip)),
    (lines.length > 1 || band.length > 0) && h('div', {class: 'legend'},
      lines.map((l) => h('span', {class: 'plain'}, swatch(l.colour), l.name)),
      options.band_name && h('span', {class: 'plain'}, h('i', {class: 'swatch band-key'}),
        options.band_name)));
}
