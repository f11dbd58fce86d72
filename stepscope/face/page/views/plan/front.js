// SPDX-License-Identifier: Apache-2.0
// Step time against memory of the plans that no other plan beats in both.

import {fitted, grid_lines} from '../../draw/chart.js';
import {h, note, s} from '../../draw/elements.js';
import {data_table} from '../../draw/table.js';
import {plural} from '../../format/names.js';
import {bytes, ns, percent, round, ticks} from '../../format/numbers.js';
import {plan_columns} from './ranking.js';

const plan_marker = {
  front: (x, y, p) => s('circle', {cx: x, cy: y, r: 4.5, class: 'front', ...p}),
  shape: (x, y, p) => s('circle', {cx: x, cy: y, r: 5.5, class: 'shape', ...p}),
  own: (x, y, p) => s('path', {d: `M${x - 7},${y}L${x},${y - 7}L${x + 7},${y}L${x},${y + 7}Z`,
    class: 'own', ...p})
};

function front_points(report) {
  const known_plans = new Set();
  const points = [];
  const add = (kind, p, name) => {
    const key = `${p.step_time_ns} ${p.memory_bytes.total}`;
    if (known_plans.has(key)) return;
    known_plans.add(key);
    points.push({kind, x: p.memory_bytes.total, y: p.step_time_ns, name, p});
  };
  for (const p of report.against) if (p.memory_bytes) add('own', p, p.label);
  for (const p of report.pareto) add('front', p, p.brief);
  for (const p of report.best) add('shape', p, p.brief);
  return points;
}

const front_tip = ({p, name}) =>
    `${name}\n${ns(p.step_time_ns)} a step, ${percent(p.mfu)} MFU, ` +
    `${bytes(p.memory_bytes.total)}\n${p.words}`;

function draw_front(report, width) {
  const points = front_points(report);
  const {capacity_bytes: capacity, allowed_bytes: allowed} = report.memory;
  const box = {left: 66, right: width - 18, top: 22, bottom: width < 600 ? 290 : 380};
  const high_x = Math.max(capacity, ...points.map((p) => p.x)) * 1.06;
  const steps = points.map((p) => p.y);
  const low_y = Math.min(...steps);
  const span = Math.max(Math.max(...steps) - low_y, low_y * 0.1);
  const from_y = Math.max(0, low_y - span * 0.08);
  const to_y = low_y + span * 1.08;
  const px = (v) => box.left + (box.right - box.left) * v / high_x;
  const py = (v) => box.bottom - (box.bottom - box.top) * (v - from_y) / (to_y - from_y);
  const front = report.pareto;
  const path = front.map((p, i) => {
    const [x, y] = [px(p.memory_bytes.total), py(p.step_time_ns)];
    return i === 0 ? `M${x},${y}` : `H${x}V${y}`;
  }).join('');
  const order = {shape: 0, front: 1, own: 2};
  const drawn = [...points].sort((a, b) => order[a.kind] - order[b.kind]);
  return s('svg', {viewBox: `0 0 ${width} ${box.bottom + 44}`, class: 'pareto', role: 'group',
    'aria-label': 'Step time against memory of the plans that no other beats in both'},
  grid_lines(box, ticks(from_y, to_y, 6), py, (v) => round(ns(v))),
  ticks(0, high_x, width < 600 ? 4 : 8).map((v) => [
    s('line', {class: 'grid', x1: px(v), x2: px(v), y1: box.top, y2: box.bottom}),
    s('text', {x: px(v), y: box.bottom + 18, 'text-anchor': 'middle'}, round(bytes(v)))
  ]),
  s('text', {x: box.right, y: box.bottom + 38, 'text-anchor': 'end'}, 'Memory of a device'),
  s('text', {x: box.left, y: box.top - 8}, 'Step'),
  s('line', {class: 'limit', x1: px(capacity), x2: px(capacity), y1: box.top, y2: box.bottom}),
  s('text', {x: px(capacity), y: box.top - 8, 'text-anchor': 'end'}, 'all there is'),
  allowed < capacity && s('line', {class: 'limit soft-limit', x1: px(allowed), x2: px(allowed),
    y1: box.top, y2: box.bottom}),
  s('path', {class: 'front-line', d: path}),
  drawn.map((p) => plan_marker[p.kind](px(p.x), py(p.y), {
    'data-tip': front_tip(p),
    'data-plan': p.kind,
    tabindex: drawn.length <= 80 ? 0 : null,
    role: 'img',
    'aria-label': front_tip(p).replaceAll('\n', ', ')
  })));
}

export function plan_front(report) {
  const key = (kind, label) => h('span', {class: 'plain'}, s('svg', {viewBox: '0 0 16 16',
    class: 'pareto key', 'aria-hidden': 'true'}, plan_marker[kind](8, 8, {})), label);
  const own = report.against.some((p) => p.memory_bytes);
  return [
    h('div', {class: 'legend'}, key('front', 'no other is faster and smaller'),
      key('shape', 'fastest of a shape'), own && key('own', 'your own')),
    fitted((width) => draw_front(report, width)),
    report.memory.allowed_bytes < report.memory.capacity_bytes && note(
        `Dotted: what the search leaves to plans, ${bytes(report.memory.allowed_bytes)}.`),
    h('details', {class: 'notes'},
      h('summary', null, `${plural(report.pareto.length, 'plan')} of the front as a table`),
      data_table({label: 'The front', rows: report.pareto, columns: plan_columns}))
  ];
}
