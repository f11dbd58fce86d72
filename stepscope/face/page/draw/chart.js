// SPDX-License-Identifier: Apache-2.0
// Shared by charts: grid lines, markers, axes of sizes, and drawing for the available width.

import {redraws} from './colour.js';
import {h, s} from './elements.js';
import {look_of_collective} from './looks.js';
import {hyphened} from '../format/names.js';
import {bytes, round} from '../format/numbers.js';

// The horizontal lines of a chart with their labels at the left.
export function grid_lines(box, values, place, label) {
  return values.map((v) => {
    const y = place(v);
    return [s('line', {class: 'grid', x1: box.left, x2: box.right, y1: y, y2: y}),
            s('text', {x: box.left - 8, y: y + 4, 'text-anchor': 'end'}, label(v))];
  });
}

// Upright lines with their labels below. Labels near the ends of the box stay inside: `right` is
// its right end.
export function grid_columns(box, values, place, label, right) {
  return values.map((v) => {
    const x = place(v);
    const anchor = x > right - 24 ? 'end' : x < 24 ? 'start' : 'middle';
    return [s('line', {class: 'grid', x1: x, x2: x, y1: box.top, y2: box.bottom}),
            s('text', {x, y: box.bottom + 17, 'text-anchor': anchor}, label(v))];
  });
}

// Draws a chart for the available width, and again when the width changes, so its text keeps its
// size on a phone.
export function fitted(draw) {
  const box = h('div');
  let drawn = 0;
  const again = () => {
    if (drawn && !box.isConnected) {
      redraws.delete(again);
      return;
    }
    const main = document.getElementById('top');
    const room = main.clientWidth - 2 * parseFloat(getComputedStyle(main).paddingLeft);
    const width = Math.max(
        280, Math.min(1200, document.documentElement.dataset.printing === '' ? 820 : room));
    if (width === drawn) return;
    drawn = width;
    box.replaceChildren(draw(width));
  };
  redraws.add(again);
  again();
  return box;
}

export function marker(shape, x, y, r, props) {
  const d = {
    circle: `M${x - r},${y}a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${- 2 * r},0`,
    square: `M${x - r},${y - r}h${2 * r}v${2 * r}h${- 2 * r}z`,
    triangle: `M${x},${y - 1.15 * r}L${x + 1.1 * r},${y + 0.85 * r}H${x - 1.1 * r}z`,
    diamond: `M${x},${y - 1.3 * r}L${x + 1.3 * r},${y}L${x},${y + 1.3 * r}L${x - 1.3 * r},${y}z`,
    cross: `M${x - r},${y - r / 2.5}h${r * 0.6}v${- r * 0.6}h${r * 0.8}v${r * 0.6}h${r * 0.6}v${
        r * 0.8}h${- r * 0.6}v${r * 0.6}h${- r * 0.8}v${- r * 0.6}h${- r * 0.6}z`,
  }[shape];
  return s('path', {d, ...props});
}

// The decades of an x axis; `show` writes a value.
export function size_axis({box, low, high, x}, show = bytes) {
  const parts = [];
  const every = Math.ceil(((high - low) * (show === bytes ? 62 : 74)) / (box.right - box.left));
  for (let p = low; p <= high; p += every) {
    const at = x(10 ** p);
    const anchor = p === high ? 'end' : 'middle';
    parts.push(
      s('line', {class: 'grid', x1: at, x2: at, y1: box.top, y2: box.bottom}),
      s('text', {x: at, y: box.bottom + 17, 'text-anchor': anchor}, round(show(10 ** p))));
  }
  return parts;
}

export function scatter_legend(names) {
  const size = {width: '14px', height: '14px'};
  return h('div', {class: 'legend'}, names.map((name) => {
    const {colour, shape} = look_of_collective(name);
    const drawn = marker(shape, 7, 7, 4.6, {fill: `var(--${colour})`});
    return h('span', {class: 'plain'},
      s('svg', {viewBox: '0 0 14 14', style: size, 'aria-hidden': 'true'}, drawn), hyphened(name));
  }));
}
