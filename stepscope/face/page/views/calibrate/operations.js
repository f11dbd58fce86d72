// SPDX-License-Identifier: Apache-2.0
// Timed kernels: the rate that each reaches by the size of its work, and the model's rate.

import {fitted, grid_lines, marker, size_axis} from '../../draw/chart.js';
import {h, note, s, select, swatch} from '../../draw/elements.js';
import {log_frame} from '../../draw/log_chart.js';
import {operation_class_colours} from '../../draw/looks.js';
import {data_table} from '../../draw/table.js';
import {
  bytes, flops, gb_per_s, known, largest, ns, percent, round, signed_percent, some_flops, ticks
} from '../../format/numbers.js';

// Kernels with arithmetic of the matrix units are drawn by their share of the peak, the others by
// their share of their rate of memory traffic.
const matrix_classes = new Set(['matmul', 'attention']);

// {matrix, work, at(time_ns)}: work in FLOP or bytes, and what a time of this kernel means: a share
// of the peak, or GB/s. Null for a kernel without work or without a peak.
export function reach_of(machine, o) {
  const matrix = matrix_classes.has(o.class);
  const peaks = machine.peaks.find((p) => p.dtype === o.dtype);
  const unit = !matrix ? 1 : peaks ? peaks.peak_flops / 1e9 : 0;  // of work a nanosecond
  const work = matrix ? o.flops : o.bytes;
  if (!(unit > 0) || !(work > 0)) return null;
  return {matrix, work, at: (t) => (known(t) && t > 0 ? work / t / unit : null)};
}

const reached = (reach, v) => (reach.matrix ? `${percent(v)} of the peak` : gb_per_s(v));

function kernel_tip(o, reach) {
  return [`${o.class}, ${o.direction}, ${o.dtype}${o.shape ? `, ${o.shape}` : ''}`,
    `measured ${ns(o.measured_ns)}, ${reached(reach, reach.at(o.measured_ns))}`,
    known(o.modelled_ns) && `model ${ns(o.modelled_ns)}, ${
      reached(reach, reach.at(o.modelled_ns))}`].filter(Boolean).join('\n');
}

const shapes = {forward: 'circle', backward: 'square'};

function kernels_chart(points, rate, width) {
  const height = width < 560 ? 260 : 320;
  const box = {left: 72, right: width - 12, top: 26, bottom: height - 40};
  const frame = log_frame(points.map((p) => p.reach.work), [1, 10], box);
  const shares = points.flatMap((p) => [p.measured, p.modelled]).filter(known);
  const top = 1.06 * largest(shares) || 1;
  const y = (v) => box.bottom - (v / top) * (box.bottom - box.top);
  const {matrix} = points[0].reach;
  return h('figure', null,
    s('svg', {viewBox: `0 0 ${width} ${height}`, role: 'group',
      'aria-label': matrix ? 'Share of the peak by arithmetic' : 'Memory traffic by bytes'},
    size_axis(frame, matrix ? flops : bytes),
    grid_lines(box, ticks(0, top, 5), y, (v) => round(matrix ? percent(v) : gb_per_s(v))),
    !matrix && rate > 0 && rate < top && [
      s('line', {x1: box.left, x2: box.right, y1: y(rate), y2: y(rate), stroke: 'var(--ink)',
        'stroke-dasharray': '5 4'}),
      s('text', {class: 'ink', x: box.left + 6, y: y(rate) - 5}, `memory: ${gb_per_s(rate)}`)],
    s('text', {x: 0, y: 12}, matrix ? 'share of the peak' : 'memory traffic'),
    s('text', {x: box.right, y: height - 4, 'text-anchor': 'end'},
      matrix ? 'arithmetic of a call' : 'bytes of a call'),
    points.map((p) => kernel_marks(frame, y, p))));
}

// A filled mark for the measurement, an open one for the model, and a line between them.
function kernel_marks(frame, y, {o, reach, measured, modelled}) {
  const colour = `var(--${operation_class_colours[o.class] || 'other'})`;
  const x = frame.x(reach.work);
  const shape = shapes[o.direction] || 'diamond';
  const tip = kernel_tip(o, reach);
  return [
    known(modelled) && s('line', {x1: x, x2: x, y1: y(measured), y2: y(modelled), stroke: colour,
      'stroke-opacity': 0.5}),
    known(modelled) && marker(shape, x, y(modelled), 3.4, {fill: 'var(--paper)', stroke: colour,
      'stroke-width': 1.5, 'data-tip': tip}),
    marker(shape, x, y(measured), 3.8, {fill: colour, 'fill-opacity': 0.85, stroke: 'var(--paper)',
      tabindex: 0, role: 'img', 'aria-label': tip.replace(/\n/g, '; '), 'data-tip': tip})];
}

function points_of(report, dtype) {
  return report.operations.filter((o) => dtype === 'all' || o.dtype === dtype).flatMap((o) => {
    const reach = reach_of(report.machine, o);
    return reach ? [{o, reach, measured: reach.at(o.measured_ns),
      modelled: reach.at(o.modelled_ns)}] : [];
  });
}

function operations_table(points) {
  const off = (p) => (known(p.o.modelled_ns) ? p.o.modelled_ns / p.o.measured_ns - 1 : null);
  return data_table({
    label: 'Timed kernels',
    rows: points,
    limit: 15,
    filter: points.length > 30 && 'Filter by class, format, shape',
    columns: [
      {label: 'Kernel', text: true, value: (p) => p.o.class, show: (p) => h('span',
        {class: 'chip'}, swatch(operation_class_colours[p.o.class]), p.o.class)},
      {label: 'Pass', text: true, value: (p) => p.o.direction},
      {label: 'Format', text: true, value: (p) => p.o.dtype},
      {label: 'Shape', text: true, value: (p) => p.o.shape},
      {label: 'Arithmetic', value: (p) => p.o.flops, show: (p) => some_flops(p.o.flops)},
      {label: 'Memory', value: (p) => p.o.bytes, show: (p) => bytes(p.o.bytes)},
      {label: 'Measured', value: (p) => p.o.measured_ns, show: (p) => ns(p.o.measured_ns)},
      {label: 'Reached', value: (p) => p.measured, show: (p) => (p.reach.matrix ?
        percent(p.measured) : gb_per_s(p.measured)), tip: 'Of the peak, or memory traffic'},
      {label: 'Model', value: (p) => p.o.modelled_ns, show: (p) => ns(p.o.modelled_ns)},
      {label: 'Off', value: off, show: (p) => (known(off(p)) ? signed_percent(off(p)) : null),
        tip: 'Modelled over measured time'}
    ]
  });
}

export function calibrate_operations(report) {
  const {memory_gb_per_s: rate} = report.machine;
  const formats = [...new Set(report.operations.map((o) => o.dtype))];
  const box = h('div');
  const draw = (dtype) => {
    const points = points_of(report, dtype);
    const parts = [points.filter((p) => p.reach.matrix), points.filter((p) => !p.reach.matrix)];
    box.replaceChildren(...[
      fitted((width) => h('div', null, parts.filter((part) => part.length)
          .map((part) => kernels_chart(part, rate, width)))),
      operations_table(points)]);
  };
  draw(formats.length > 1 ? formats[0] : 'all');
  const classes = [...new Set(report.operations.map((o) => o.class))];
  return [
    h('div', {class: 'tools'}, formats.length > 1 && select('Number format',
      [...formats.map((f) => [f, f]), ['all', 'all']], formats[0], draw)),
    h('div', {class: 'legend'}, classes.map((c) => h('span', {class: 'plain'},
      swatch(operation_class_colours[c]), c))),
    box,
    note('Filled: measured. Open: the model. Circles: forward, squares: backward. ',
      known(rate) && `The memory's rate is ${gb_per_s(rate)}, measured on arrays beyond the ` +
        'caches; work within the caches can exceed it.')];
}
