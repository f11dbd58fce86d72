// SPDX-License-Identifier: Apache-2.0
// Operations under the roof of peak arithmetic and memory bandwidth, both axes logarithmic.

import {fitted, grid_lines} from '../../draw/chart.js';
import {h, note, s, swatch} from '../../draw/elements.js';
import {decades} from '../../draw/log_chart.js';
import {operation_class_colours} from '../../draw/looks.js';
import {
  count, flops, gb_per_s, ns, number, part, percent, round, sum
} from '../../format/numbers.js';
import {along, placed_labels, text_width} from './label_places.js';

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
  placed_labels(points, box, taken).map(({label, place, line}) => [
    line && s('line', {class: 'leader', ...line}),
    s('text', {class: 'ink', x: place.x0, y: (place.y0 + place.y1) / 2 + 4}, label)
  ]));
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
