// SPDX-License-Identifier: Apache-2.0
// Distributions of times, one below the other on one scale: a dot for a step, a bar from the first
// to the third quartile with the median in it, and a thin line from the 5th to the 95th percentile.

import {grid_columns} from './chart.js';
import {h, s} from './elements.js';
import {count, known, largest, ns, round, ticks} from '../format/numbers.js';

const most_dots = 240;  // of a strip

// Type 7 of Hyndman and Fan, of ascending values.
export function quantile(sorted, q) {
  if (!sorted.length) return null;
  const at = (sorted.length - 1) * q;
  const low = Math.floor(at);
  const high = Math.min(sorted.length - 1, low + 1);
  return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
}

// At most `wanted` values at evenly spaced places, both ends among them.
export function thinned_sorted(sorted, wanted) {
  if (sorted.length <= wanted) return sorted;
  if (wanted < 2) return sorted.slice(0, wanted);
  return Array.from({length: wanted},
    (_, i) => sorted[Math.round((i * (sorted.length - 1)) / (wanted - 1))]);
}

// The ascending values of several launches together: [{sorted, all}], where `sorted` stands for
// `all` steps. Each launch counts by its steps.
export function joined(launches) {
  const some = launches.filter((l) => l.sorted.length);
  const coarsest = largest(some.map((l) => l.all / l.sorted.length), 1);
  return some.flatMap((l) => thinned_sorted(l.sorted, Math.max(1, Math.round(l.all / coarsest))))
      .sort((a, b) => a - b);
}

// [low, high] of the scale. Steps far beyond the others do not stretch it: it ends a little after
// the largest 95th percentile, if a step lies far beyond that.
export function strip_range(strips) {
  const some = strips.filter((x) => x.sorted.length);
  if (!some.length) return [0, 1];
  const least = -largest(some.map((x) => -x.sorted[0]), -Infinity);
  const most = largest(some.map((x) => x.sorted[x.sorted.length - 1]));
  const usual = largest(some.map((x) => quantile(x.sorted, 0.95)));
  const span = usual - least;
  const high = most > usual + 2 * span && span > 0 ? usual + 0.5 * span : most;
  const room = 0.04 * (high - least) || 0.02 * high || 1;
  return [Math.max(0, least - room), high + room];
}

// What a strip says in words.
const strip_words = ({name, sorted}) => `${name}: median ${ns(quantile(sorted, 0.5))}, ` +
  `half of the steps ${ns(quantile(sorted, 0.25))} to ${ns(quantile(sorted, 0.75))}, ` +
  `nine in ten ${ns(quantile(sorted, 0.05))} to ${ns(quantile(sorted, 0.95))}`;

function strip_marks(strip, frame, top) {
  const {x, right, tall} = frame;
  const {sorted, colour} = strip;
  const middle = top + tall / 2;
  const beyond = sorted.filter((v) => x(v) > right).length;
  const shown = sorted.slice(0, sorted.length - beyond);
  const height = tall * 0.62;
  const r = shown.length < 60 ? 2.8 : 2;
  const dots = thinned_sorted(shown, most_dots).map((v, i) => s('circle', {
    r, cx: x(v).toFixed(1), cy: (middle + height * (((i * 0.618034) % 1) - 0.5)).toFixed(1),
    fill: `var(--${colour})`, 'fill-opacity': 0.5}));
  const at = (q) => Math.min(right, x(quantile(sorted, q)));
  const rail = (from, to, thick, opacity) => s('rect', {x: from, width: Math.max(1, to - from),
    y: middle - thick / 2, height: thick, fill: `var(--${colour})`, 'fill-opacity': opacity});
  return [
    dots, rail(at(0.05), at(0.95), 2, 0.9), rail(at(0.25), at(0.75), 9, 0.55),
    s('line', {x1: at(0.5), x2: at(0.5), y1: middle - 10, y2: middle + 10, class: 'median'}),
    beyond > 0 && s('text', {x: right, y: top + 9, 'text-anchor': 'end'},
      `${count(beyond * (strip.all || sorted.length) / sorted.length)} longer →`)
  ];
}

// strips: [{name, sorted, all?, colour, head?}]; `sorted` stands for `all` steps, `head` strips
// have a strong name. Names stand over the strips, so long ones have room.
export function strip_chart(strips, label, width) {
  const drawn = strips.filter((x) => x.sorted.length);
  const [low, high] = strip_range(drawn);
  const [left, right] = [4, width - 6];
  const tall = 26;
  const pitch = tall + 24;
  const x = (v) => left + ((v - low) / (high - low || 1)) * (right - left);
  const foot = drawn.length * pitch + 4;
  const letters = Math.max(8, Math.floor(width / 7) - 20);
  const said = (name) => (name.length > letters ? `${name.slice(0, letters - 1)}…` : name);
  return h('figure', {class: 'strips'},
    s('svg', {viewBox: `0 0 ${width} ${foot + 20}`, role: 'img',
      'aria-label': `${label}. ${drawn.slice(0, 12).map(strip_words).join('; ')}`},
      grid_columns({top: 0, bottom: foot}, ticks(low, high, width < 560 ? 4 : 7), x,
        (v) => round(ns(v)), right),
      drawn.map((strip, i) => s('g', {'data-strip': strip.name},
        s('text', {class: strip.head ? 'ink strong' : 'ink', x: left, y: i * pitch + 14},
          said(strip.name)),
        s('text', {x: right, y: i * pitch + 14, 'text-anchor': 'end'},
          `median ${ns(quantile(strip.sorted, 0.5))}`),
        strip_marks(strip, {x, right, tall}, i * pitch + 19),
        s('rect', {x: 0, y: i * pitch, width, height: pitch, fill: 'transparent',
          'data-tip': strip_words(strip).replace(/[:,] /g, '\n')})))),
    h('figcaption', null, 'A dot is a step, the thick bar half of the steps, the line nine in ' +
      'ten, the upright mark the median.',
      drawn.some((d) => d.sorted.length > most_dots) &&
        ` Of many steps ${most_dots} dots at evenly spaced ranks are drawn.`));
}

// What strip_chart() needs of a launch or of several of the data's.
export const strip_of = (name, launches, colour, more) => {
  const parts = launches.map((l) => ({
    sorted: (l.sorted_ns || []).filter(known), all: Math.max(0, l.steps - l.warm_up)}));
  return {name, colour, sorted: joined(parts), all: parts.reduce((a, p) => a + p.all, 0), ...more};
};
