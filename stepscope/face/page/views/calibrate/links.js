// SPDX-License-Identifier: Apache-2.0
// Measured collectives with their spread and the fitted lines, on logarithmic axes, and how far
// each is from its line.

import {fitted, grid_lines, marker, scatter_legend, size_axis} from '../../draw/chart.js';
import {choice, h, note, s, select} from '../../draw/elements.js';
import {log_frame, powers_of} from '../../draw/log_chart.js';
import {look_of_collective} from '../../draw/looks.js';
import {data_table, figure_column} from '../../draw/table.js';
import {hyphened} from '../../format/names.js';
import {
  between, bytes, count, gb_per_s, known, largest, ns, number, percent, round, signed_percent, ticks
} from '../../format/numbers.js';
import {fit_name, fits_table, piece_time} from '../analyze/link_fits.js';

const placement_of = (p) => (p.hosts > 1 ? 'several_hosts' : 'one_host');

export const fit_of_point = (fits, p) => fits.find((f) => f.name === p.kind &&
  f.group_size === p.group_size && f.placement === placement_of(p)) ||
  (p.hosts > 1 ? fits.find((f) => f.name === p.kind && f.group_size === p.group_size) : undefined);

// Measured over fitted time of a point, minus 1. Null without a fit.
export const residual = (p) =>
  (known(p.fitted_ns) && p.fitted_ns > 0 ? p.measured_ns / p.fitted_ns - 1 : null);

// A view of the points: {of(time_ns, point): y, show, title}. Bus bandwidth is bytes over time, by
// the factor of the kind.
const views = {
  time: {of: (t) => t, show: (v) => round(ns(v)), title: 'time'},
  rate: {
    of: (t, p) => (p.busbw_gb_per_s > 0 && t > 0 ? p.busbw_gb_per_s * p.measured_ns / t : 0),
    show: (v) => round(gb_per_s(v)),
    title: 'bus bandwidth'
  }
};

function frame_of(points, view, width) {
  const height = width < 560 ? 280 : 360;
  const box = {left: 72, right: width - 12, top: 26, bottom: height - 40};
  const ys = points.flatMap((p) => [p.low_ns, p.measured_ns, p.high_ns, p.fitted_ns]
      .filter((t) => known(t) && t > 0).map((t) => view.of(t, p)));
  return {height, ...log_frame(points.map((p) => p.bytes), ys, box)};
}

// With logarithmic axes the line of a piece is a curve. `point` has the kind's bus factor.
function piece_path(frame, view, piece, point) {
  const steps = 24;
  const per_byte = point.busbw_gb_per_s * point.measured_ns / point.bytes;
  const clamp = (y) => Math.max(frame.box.top, Math.min(frame.box.bottom, y));
  return Array.from({length: steps + 1}, (_, k) => {
    const size = piece.from_bytes * (piece.to_bytes / piece.from_bytes) ** (k / steps);
    const t = piece_time(piece, size);
    if (!(t > 0)) return null;
    const y = view === views.time ? t : per_byte * size / t;
    if (!(y > 0)) return null;
    return `${frame.x(size).toFixed(1)},${clamp(frame.y(y)).toFixed(1)}`;
  }).filter(Boolean).map((at, k) => `${k ? 'L' : 'M'}${at}`).join('');
}

const group_name = (p) => `${hyphened(p.kind)} of ${p.group_size} ranks${
  p.hosts > 1 ? ` on ${p.hosts} hosts` : ''}`;

function point_tip(p) {
  return [group_name(p), `${bytes(p.bytes)}: ${ns(p.measured_ns)}${known(p.busbw_gb_per_s) ?
      `, bus bandwidth ${gb_per_s(p.busbw_gb_per_s)}` : ''}`,
    known(p.low_ns) && `80 % of ${count(p.calls)} calls ${between([p.low_ns, p.high_ns], ns)}`,
    known(p.fitted_ns) && `line ${ns(p.fitted_ns)}, residual ${signed_percent(residual(p))}`,
    known(p.modelled_ns) && `machine file's model ${ns(p.modelled_ns)}`].filter(Boolean).join('\n');
}

function point_marks(frame, view, p) {
  const {colour, shape} = look_of_collective(p.kind);
  const x = frame.x(p.bytes);
  const y = (t) => frame.y(view.of(t, p));
  const whisker = known(p.low_ns) && p.low_ns > 0 && p.high_ns > p.low_ns;
  return [
    whisker && s('line', {x1: x, x2: x, y1: y(p.low_ns), y2: y(p.high_ns),
      stroke: `var(--${colour})`, 'stroke-width': 1.6, 'stroke-opacity': 0.6}),
    marker(shape, x, y(p.measured_ns), 3.8, {fill: `var(--${colour})`, 'fill-opacity': 0.85,
      stroke: 'var(--paper)', tabindex: 0, role: 'img', 'data-point': p.kind,
      'aria-label': point_tip(p).replace(/\n/g, '; '), 'data-tip': point_tip(p)})];
}

function links_chart(points, fits, view, width) {
  const shown = points.filter((p) => p.bytes > 0 && view.of(p.measured_ns, p) > 0);
  const frame = frame_of(shown, view, width);
  const {box, height, y} = frame;
  const lines = fits.flatMap((f) => {
    const point = shown.find((p) => fit_of_point([f], p));
    return point ? f.pieces.map((piece) => s('path', {
      class: 'fit', d: piece_path(frame, view, piece, point), fill: 'none', 'stroke-width': 1.6,
      stroke: `var(--${look_of_collective(f.name).colour})`})) : [];
  });
  return h('figure', {class: 'link-lines'}, scatter_legend([...new Set(shown.map((p) => p.kind))]),
    s('svg', {viewBox: `0 0 ${width} ${height}`, role: 'group',
      'aria-label': `${view.title} by message size, measured and fitted`},
    size_axis(frame), grid_lines(box, powers_of(frame, 10), y, view.show),
    s('text', {x: 0, y: 12}, view.title),
    s('text', {x: box.right, y: height - 4, 'text-anchor': 'end'}, 'message size'),
    lines, shown.map((p) => point_marks(frame, view, p))),
    h('figcaption', null, 'Points: measured, the median of several times. Upright lines: 80 % of ' +
      'the calls. Curves: α + size ÷ β, piece by piece.'));
}

// The end of the residuals' axis: a few far ones do not flatten the others.
export function residual_limit(residuals) {
  const sizes = residuals.map(Math.abs).sort((a, b) => a - b);
  const usual = sizes.length ? sizes[Math.floor(0.75 * (sizes.length - 1))] : 0;
  return Math.max(0.02, Math.min(1.1 * largest(sizes), 4 * usual));
}

function residual_chart(points, width) {
  const shown = points.filter((p) => p.bytes > 0 && known(residual(p)));
  if (!shown.length) return null;
  const worst = largest(shown.map((p) => Math.abs(residual(p))));
  const most = residual_limit(shown.map(residual));
  const beyond = shown.filter((p) => Math.abs(residual(p)) > most).length;
  const inside = (v) => Math.max(-most, Math.min(most, v));
  const height = 150;
  const box = {left: 72, right: width - 12, top: 26, bottom: height - 24};
  const frame = log_frame(shown.map((p) => p.bytes), [1, 10], box);
  const y = (v) => (box.top + box.bottom) / 2 - (v / most) * (box.bottom - box.top) / 2;
  return h('figure', {class: 'link-lines'},
    s('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img',
      'aria-label': `Residuals, at most ${percent(worst)}`},
    size_axis(frame), grid_lines(box, ticks(-most, most, 4), y, signed_percent),
    s('line', {x1: box.left, x2: box.right, y1: y(0), y2: y(0), stroke: 'var(--soft)'}),
    s('text', {x: 0, y: 12}, 'residual: measured over fitted time'),
    shown.map((p) => {
      const {colour, shape} = look_of_collective(p.kind);
      return marker(shape, frame.x(p.bytes), y(inside(residual(p))), 3.4,
        {fill: `var(--${colour})`, 'data-tip': point_tip(p)});
    })),
    beyond > 0 && h('figcaption', null, `At the edge, because they are beyond it: ${beyond}.`));
}

function points_table(points) {
  return data_table({
    label: 'Collectives',
    rows: points,
    limit: 15,
    filter: points.length > 30 && 'Filter by collective',
    columns: [
      {label: 'Collective', text: true, value: (p) => hyphened(p.kind)},
      {label: 'Ranks', value: (p) => p.group_size},
      {label: 'Hosts', value: (p) => p.hosts},
      figure_column('Size', 'bytes', bytes),
      figure_column('Measured', 'measured_ns', ns),
      {label: '80 % of calls', value: (p) => p.low_ns,
        show: (p) => (known(p.low_ns) ? between([p.low_ns, p.high_ns], ns) : null)},
      figure_column('Bus GB/s', 'busbw_gb_per_s', number),
      figure_column('Line', 'fitted_ns', ns),
      {label: 'Residual', value: residual, show: (p) => (known(residual(p)) ?
        signed_percent(residual(p)) : null), tip: 'Measured over fitted time'},
      {label: 'Model', value: (p) => p.modelled_ns, show: (p) => ns(p.modelled_ns),
        tip: "The machine file's model of the links"}
    ]
  });
}

const key_of = (p) => `${p.kind} ${p.group_size} ${placement_of(p)}`;

export function calibrate_links(report) {
  const all = report.collectives;
  const fits = report.link_fits.filter((f) => !f.refused);
  const groups = new Map(all.map((p) => [key_of(p), group_name(p)]));
  const state = {view: 'time', group: 'all'};
  const box = h('div');
  const draw = () => {
    const points = all.filter((p) => state.group === 'all' || key_of(p) === state.group);
    const shown = fits.filter((f) => points.some((p) => fit_of_point(fits, p) === f));
    box.replaceChildren(fitted((width) => h('div', null,
      links_chart(points, shown, views[state.view], width), residual_chart(points, width))));
  };
  draw();
  const refused = report.link_fits.filter((f) => f.refused);
  return [
    h('div', {class: 'tools'},
      choice('Of each message', [['time', 'Time'], ['rate', 'Bus bandwidth']], 'time', (v) => {
        state.view = v;
        draw();
      }),
      groups.size > 1 && select('Collective', [['all', 'all'], ...groups], 'all', (v) => {
        state.group = v;
        draw();
      })),
    box, fits.length > 0 && fits_table(fits),
    refused.length > 0 &&
        note(`No line: ${refused.map((f) => `${fit_name(f)} (${f.refused})`).join('; ')}.`),
    h('h3', null, 'Measured times'), points_table(all)];
}
