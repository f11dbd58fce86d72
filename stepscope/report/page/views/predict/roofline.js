// SPDX-License-Identifier: Apache-2.0
// Operations under the roof of peak arithmetic and memory bandwidth, both axes logarithmic.

import {fitted, grid_lines} from '../../draw/chart.js';
import {h, note, s, swatch} from '../../draw/elements.js';
import {operation_class_colours} from '../../draw/looks.js';
import {
  count, flops, gb_per_s, ns, number, part, percent, round, sum
} from '../../format/numbers.js';

function roofline_points(report) {
  return report.layers.map((r) => {
    const time = r.t_fwd_ns + r.t_bwd_ns;
    const work = r.flops_fwd + r.flops_bwd + r.vector_flops_fwd + r.vector_flops_bwd;
    return {
      ...r,
      label: `${r.part === 'layer' ? '' : `${r.part}: `}${r.name}`,
      x: r.intensity,
      y: time > 0 ? work / time * 1e9 : 0,
      time: time * r.count,
      work
    };
  });
}

const decades = (low, high) => {
  const out = [];
  for (let p = Math.ceil(Math.log10(low) - 1e-9); p <= Math.log10(high) + 1e-9; p++)
    out.push(10 ** p);
  return out;
};

const meet = (a, b) => a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;
const around = (x, y, r) => ({x0: x - r, x1: x + r, y0: y - r, y1: y + r});
const text_width = (text) => 7.1 * text.length;  // at most, of most texts

// Where a label may stand: beside its point; that of a large one further and further out too.
function label_places(p, large) {
  const width = text_width(p.label);
  const at = (x, y) => ({x0: x, x1: x + width, y0: y - 8, y1: y + 8});
  const places = [];
  for (const gap of large ? [5, 16, 30, 46, 64, 84] : [5]) {
    const far = p.r + gap;
    const aside = far * 0.7;
    places.push(...[
      at(p.px + far, p.py), at(p.px - far - width, p.py), at(p.px - width / 2, p.py - far - 5),
      at(p.px - width / 2, p.py + far + 6), at(p.px + aside, p.py + far),
      at(p.px - aside - width, p.py + far), at(p.px + aside, p.py - far),
      at(p.px - aside - width, p.py - far)
    ].map((place) => ({...place, led: gap > 5})));
  }
  return places;
}

// Ends of a line from a point to a label that stands apart from it.
function leader(p, place) {
  const x2 = Math.max(place.x0, Math.min(p.px, place.x1));
  const y2 = Math.max(place.y0 + 2, Math.min(p.py, place.y1 - 2));
  const length = Math.hypot(x2 - p.px, y2 - p.py) || 1;
  return {
    x1: p.px + (x2 - p.px) * p.r / length,
    y1: p.py + (y2 - p.py) * p.r / length,
    x2,
    y2
  };
}

// Small boxes along a line, so that no label lies across it.
function along({x1, y1, x2, y2}, r = 2) {
  const pieces = Math.max(1, Math.ceil(Math.hypot(x2 - x1, y2 - y1) / 8));
  return Array.from({length: pieces + 1}, (_, i) =>
    around(x1 + (x2 - x1) * i / pieces, y1 + (y2 - y1) * i / pieces, r));
}

// Labels, the largest points' first, each where no point, no other label and nothing of `taken` is;
// one without such a place is left to the tooltip.
function roofline_labels(points, box, taken) {
  const blocked = [...taken, ...points.map((q) => ({...around(q.px, q.py, q.r * 0.8), of: q}))];
  const labels = [];
  const out = [];
  const whole = sum(points.map((p) => p.time));
  for (const p of [...points].sort((a, b) => b.time - a.time)) {
    const free = (b) => b.x0 >= box.left && b.x1 <= box.right && b.y0 >= box.top - 14 &&
        b.y1 <= box.bottom && !blocked.some((t) => t.of !== p && meet(b, t));
    const crosses = (b) => b.led && along(leader(p, b), 1).some((a) =>
      labels.some((t) => meet(a, t)));
    const place = label_places(p, p.time > whole / 100).find((b) => free(b) && !crosses(b));
    if (!place) continue;
    labels.push(place);
    blocked.push(place, ...(place.led ? along(leader(p, place), 1) : []));
    out.push(place.led && s('line', {class: 'leader', ...leader(p, place)}),
      s('text', {class: 'ink', x: place.x0, y: (place.y0 + place.y1) / 2 + 4}, p.label));
  }
  return out;
}

function draw_roofline(report, width) {
  const {peak_flops: peak, memory_gb_per_s: rate} = report.machine;
  const all = roofline_points(report);
  const shown = all.filter((p) => p.x > 0 && p.y > 0);
  const ridge = peak / (rate * 1e9);
  const box = {left: 74, right: width - 16, top: 18, bottom: width < 600 ? 300 : 400};
  const low_x = 10 ** Math.floor(Math.log10(Math.min(ridge / 100, ...shown.map((p) => p.x))));
  const high_x = 10 ** Math.ceil(Math.log10(Math.max(ridge * 8, ...shown.map((p) => p.x * 1.5))));
  const low_y = 10 ** Math.floor(Math.log10(Math.min(peak / 1e3, ...shown.map((p) => p.y))));
  const high_y = peak * 3;
  const scale = (v, low, high, from, to) =>
      from + (to - from) * Math.log(v / low) / Math.log(high / low);
  const px = (v) => scale(v, low_x, high_x, box.left, box.right);
  const py = (v) => scale(v, low_y, high_y, box.bottom, box.top);
  const whole = sum(shown.map((p) => p.time));
  const points = shown.map((p) => ({
    ...p,
    px: px(p.x),
    py: py(p.y),
    r: Math.max(3.5, Math.sqrt(p.time / whole) * (width < 600 ? 16 : 24))
  })).sort((a, b) => b.r - a.r);
  const roof_left = Math.max(low_y, low_x * rate * 1e9);
  const start = roof_left / (rate * 1e9);
  const said = {
    peak: {text: `peak ${flops(peak)}/s`, x: box.right, y: py(peak) - 8},
    rate: {text: gb_per_s(rate), x: px(ridge / 12) - 12, y: py(peak / 12) - 4}
  };
  const taken = [
    ...Object.values(said).map(({text, x, y}) =>
      ({x0: x - text_width(text) - 4, x1: x, y0: y - 12, y1: y + 4})),
    ...along({x1: px(start), y1: py(roof_left), x2: px(ridge), y2: py(peak)}),
    ...along({x1: px(ridge), y1: py(peak), x2: box.right, y2: py(peak)})
  ];
  const path = `M${px(start)},${py(roof_left)}L${px(ridge)},${py(peak)}H${box.right}`;
  const tip = (p) => `${p.part}: ${p.name} (${p.class})\n${number(p.x)} FLOP/B, ` +
      `${flops(p.y)}/s, ${percent(p.y / Math.min(peak, p.x * rate * 1e9))} of the roof\n` +
      `${part(p.time, whole)} of the time of all operations`;
  return s('svg', {
    viewBox: `0 0 ${width} ${box.bottom + 44}`,
    class: 'roofline',
    role: 'img',
    'aria-label': 'Roofline of all operations'
  },
  grid_lines(box, decades(low_y, high_y), py, (v) => `${round(flops(v))}/s`),
  decades(low_x, high_x).map((v) => [
    s('line', {class: 'grid', x1: px(v), x2: px(v), y1: box.top, y2: box.bottom}),
    s('text', {x: px(v), y: box.bottom + 18, 'text-anchor': 'middle'},
      v < 1 ? String(Number(v.toPrecision(1))) : count(v))
  ]),
  s('text', {x: box.right, y: box.bottom + 38, 'text-anchor': 'end'},
    'FLOPs for each byte of memory traffic'),
  s('path', {class: 'roof', d: path}),
  Object.values(said).map(({text, x, y}) => s('text', {x, y, 'text-anchor': 'end'}, text)),
  points.map((p) => s('circle', {
    cx: p.px,
    cy: p.py,
    r: p.r,
    'data-operation': p.name,
    'data-tip': tip(p),
    style: {'--c': `var(--${operation_class_colours[p.class] || 'other'})`}
  })),
  roofline_labels(points, box, taken));
}

export function predict_roofline(report) {
  const points = roofline_points(report);
  const none_at_all = points.filter((p) => !(p.x > 0 && p.y > 0));
  const classes = [...new Set(points.map((p) => p.class))];
  const legend = h('div', {class: 'legend'}, classes.map((c) =>
    h('span', {class: 'plain'}, swatch(operation_class_colours[c]), c)));
  return [legend, fitted((width) => draw_roofline(report, width)),
    none_at_all.length > 0 && note(`Without arithmetic, and so not in the picture: ${
      none_at_all.map((p) => `${p.label} (${ns(p.time)})`).join(', ')}.`)];
}
