// SPDX-License-Identifier: Apache-2.0
// Bytes over time: the frame of the chart, its steps and its peak.

import {s} from './elements.js';
import {bytes, known, largest} from '../format/numbers.js';

// At most `wanted` points. Each bucket keeps its largest value, so no peak is lost.
export function thinned(points, wanted) {
  if (points.length <= wanted) return points;
  const out = [];
  for (let i = 0; i < wanted; i++) {
    const from = Math.floor((i * points.length) / wanted);
    const to = Math.floor(((i + 1) * points.length) / wanted);
    let best = from;
    for (let j = from; j < to; j++)
      if (points[j].allocated_bytes > points[best].allocated_bytes) best = j;
    out.push(points[best]);
  }
  return out;
}

// Bytes over time of one device: the places of its points in a frame.
export function memory_frame(device, points, width) {
  const height = width < 560 ? 200 : 260;
  const box = {left: 62, right: width - 8, top: 14, bottom: height - 26};
  const [from, to] = [points[0].time_ns, points[points.length - 1].time_ns];
  const most = largest(points.flatMap((p) => [p.allocated_bytes, p.reserved_bytes]));
  const top = 1.06 * Math.max(most, device.peak_allocated_bytes || 0) || 1;
  const x = (t) => box.left + ((t - from) / (to - from || 1)) * (box.right - box.left);
  const y = (v) => box.bottom - ((v || 0) / top) * (box.bottom - box.top);
  const line = (key) => points.map((p, i) => {
    const at = x(p.time_ns).toFixed(1);
    return (i ? `H${at}V` : `M${at},`) + y(p[key]).toFixed(1);
  }).join('');
  return {width, height, box, from, to, top, x, y, line};
}

export function memory_steps(frame, steps) {
  const {box, x} = frame;
  const labelled = steps.length * 62 < frame.width;
  return steps.map((step) => {
    const [start, middle] = [x(step.start_ns), x(step.start_ns + step.wall_ns / 2)];
    const inside = (v) => v > box.left && v < box.right;
    const line = {class: 'grid', x1: start, x2: start, y1: box.top, y2: box.bottom};
    const label = {x: middle, y: frame.height - 8, 'text-anchor': 'middle'};
    return [inside(start) && s('line', {...line, 'stroke-dasharray': '2 3'}),
            labelled && inside(middle) && s('text', label, `step ${step.index}`)];
  });
}

export function memory_peak(frame, device) {
  const [at, peak] = [device.peak_time_ns, device.peak_allocated_bytes];
  if (!known(at) || at < frame.from || at > frame.to) return null;
  const [x, y] = [frame.x(at), frame.y(peak)];
  const right = x > frame.width * 0.7;
  const place = {x: x + (right ? -8 : 8), y: y - 6, 'text-anchor': right ? 'end' : 'start'};
  return [s('circle', {cx: x, cy: y, r: 4, fill: 'var(--comm_exposed_wait)'}),
          s('text', {class: 'ink', ...place}, `peak ${bytes(peak)}`)];
}
