// SPDX-License-Identifier: Apache-2.0
// A device's memory over time, by use.

import {fitted, grid_lines} from '../../draw/chart.js';
import {h, missing, s, swatch} from '../../draw/elements.js';
import {memory_use_colour} from '../../draw/looks.js';
import {memory_frame, memory_peak} from '../../draw/memory_chart.js';
import {plain} from '../../format/names.js';
import {
  bytes, count, digits, known, largest, ns, part, round, ticks
} from '../../format/numbers.js';
import {label_of} from '../../terms.js';
import {by_device} from './devices.js';

// The layers from the bottom up.
const use_order = ['older', 'parameters', 'masters', 'optimizer', 'gradients', 'activations',
  'casts', 'temporary', 'unknown'];

// The states to draw, as points with their place on the x axis: time, or events if no time is
// recorded.
function snapshot_points(d) {
  const timed = d.timeline.every((p) => known(p.time_ns));
  const points = d.timeline.map((p) => ({...p, time_ns: timed ? p.time_ns : p.event}));
  return {timed, points};
}

function use_areas(frame, points) {
  const {box, x, y} = frame;
  const below = points.map(() => 0);
  return use_order.map((use) => {
    const top = points.map((p, i) => below[i] + p.by_use_bytes[use]);
    if (!points.some((p) => p.by_use_bytes[use] > 0)) return null;
    const edge = (values) => points.map((p, i) => [x(p.time_ns), y(values[i])]);
    const step = (at) => at.map(([px, py], i) => (i ?
      `H${px.toFixed(1)}V${py.toFixed(1)}` : `L${px.toFixed(1)},${py.toFixed(1)}`)).join('');
    const back = (at) => at.map(([px, py], i) => {
      const next = at[i + 1];
      return `L${px.toFixed(1)},${py.toFixed(1)}` +
        (next ? `L${px.toFixed(1)},${next[1].toFixed(1)}` : '');
    }).join('');
    const [upper, lower] = [edge(top), edge([...below])];
    const path = `M${box.left},${lower[0][1].toFixed(1)}${step(upper)}${back(lower.reverse())}Z`;
    for (let i = 0; i < below.length; i++) below[i] = top[i];
    return s('path', {d: path, fill: `var(--${memory_use_colour(use)})`, 'fill-opacity': 0.75,
      'data-use': use, 'data-tip': `${use}\nat most ${
        bytes(largest(points.map((p) => p.by_use_bytes[use])))}`});
  });
}

function snapshot_chart(d, width) {
  const {timed, points} = snapshot_points(d);
  const shape = {
    peak_allocated_bytes: d.peak.memory.live_bytes,
    peak_time_ns: timed ? d.peak.time_ns : d.peak.event
  };
  const frame = memory_frame(shape, points, width);
  const {box} = frame;
  const units = [[1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB'], [1, 'B']];
  const unit = units.find((u) => frame.top >= u[0]) || units[3];
  const marks = ticks(0, frame.top / unit[0], 5);
  const label = (t) => `${round(digits(t))} ${unit[1]}`;
  const say = (t) => (timed ? round(ns(t)) : `event ${count(t)}`);
  const failed = d.out_of_memory.map((o) => {
    const at = frame.x(timed ? o.time_ns : o.event);
    return s('line', {x1: at, x2: at, y1: box.top, y2: box.bottom,
      stroke: 'var(--comm_exposed_wait)', 'stroke-width': 1.5, 'stroke-dasharray': '4 2',
      'data-tip': `out of memory: ${bytes(o.request_bytes)} asked for, ${plain(o.verdict)}`});
  });
  const under = {y: frame.height - 8, class: 'axis'};
  return h('figure', null,
    s('svg', {viewBox: `0 0 ${width} ${frame.height}`, role: 'img',
      'aria-label': `Memory over time, peak ${bytes(shape.peak_allocated_bytes)}`},
      grid_lines(box, marks, (t) => frame.y(t * unit[0]), label),
      use_areas(frame, points),
      s('path', {d: frame.line('reserved_bytes'), fill: 'none', stroke: 'var(--soft)',
        'stroke-dasharray': '5 3'}),
      failed, memory_peak(frame, shape),
      s('text', {x: box.left, ...under}, say(frame.from)),
      s('text', {x: box.right, 'text-anchor': 'end', ...under}, say(frame.to))),
    h('figcaption', null, 'Filled: live blocks by use (below: at the peak). ' +
        'Dashed: reserved from the device.',
      failed.length > 0 && ' Upright: an allocation that failed.'));
}

// Every drawn use, with its bytes at the peak.
function snapshot_legend(d) {
  const at = d.peak;
  const live = at.memory.live_bytes;
  const drawn = (u) => [at, ...d.timeline].some((p) => p.by_use_bytes[u] > 0);
  return h('div', {class: 'legend'}, use_order.filter(drawn)
    .map((u) => h('span', {class: 'plain'}, swatch(memory_use_colour(u)), label_of('memory_use', u),
      h('span', {class: 'amount'}, `${bytes(at.by_use_bytes[u])} · ${
        part(at.by_use_bytes[u], live)}`))));
}

export const snapshot_time = (report) => by_device(report, (d) => [
  d.timeline.length > 1 ? fitted((width) => snapshot_chart(d, width)) :
    missing('No history is recorded: ',
      h('code', null, 'torch.cuda.memory._record_memory_history()'), ' before the model is built.'),
  snapshot_legend(d)
]);
