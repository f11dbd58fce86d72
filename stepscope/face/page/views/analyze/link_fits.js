// SPDX-License-Identifier: Apache-2.0
// Transfer time by message size: the measurements and the pieces fitted to them, on logarithmic
// axes.

import {fitted, grid_lines, marker, scatter_legend, size_axis} from '../../draw/chart.js';
import {h, note, s} from '../../draw/elements.js';
import {log_frame, powers_of} from '../../draw/log_chart.js';
import {look_of_collective} from '../../draw/looks.js';
import {data_table, figure_column} from '../../draw/table.js';
import {hyphened} from '../../format/names.js';
import {
  between, bytes, count, known, ns, number, percent, round
} from '../../format/numbers.js';
import {is_term, label_of} from '../../terms.js';

export const fit_name = (f) => `${hyphened(f.name)} of ${f.group_size} ranks${
    is_term('placement', f.placement) ? ` ${label_of('placement', f.placement)}` : ''}`;

export const piece_time = (p, size) =>
    p.start_ns + (known(p.gb_per_s) ? size / p.gb_per_s : 0);  // 1 GB/s is 1 byte per ns

function fits_frame(fits, width) {
  const points = fits.flatMap((f) => f.points);
  const height = width < 560 ? 280 : 360;
  const box = {left: 64, right: width - 12, top: 26, bottom: height - 40};
  return {width, height, ...log_frame(points.map((p) => p.bytes),
    points.flatMap((p) => [p.transfer_ns, p.fitted_ns]), box)};
}

// With logarithmic axes the line of a piece is a curve.
function piece_path(frame, piece) {
  const steps = 24;
  const size = (k) => piece.from_bytes * (piece.to_bytes / piece.from_bytes) ** (k / steps);
  return Array.from({length: steps + 1}, (_, k) =>
    `${k ? 'L' : 'M'}${frame.x(size(k)).toFixed(1)},${
      frame.y(piece_time(piece, size(k))).toFixed(1)}`).join('');
}

function fit_marks(frame, f) {
  const {colour, shape} = look_of_collective(f.name);
  const tip = (p) => `${fit_name(f)}\n${bytes(p.bytes)}: ${ns(p.transfer_ns)}${
    known(p.fitted_ns) ? `, fitted ${ns(p.fitted_ns)}` : ''}`;
  return [
    f.pieces.map((p) => s('path', {
      class: 'fit',
      d: piece_path(frame, p),
      fill: 'none',
      stroke: `var(--${colour})`,
      'stroke-width': 1.6
    })),
    f.points.map((p) => marker(shape, frame.x(p.bytes), frame.y(p.transfer_ns), 3.6, {
      fill: `var(--${colour})`,
      'fill-opacity': 0.75,
      stroke: 'var(--paper)',
      'data-fit': f.name,
      'data-tip': tip(p)
    }))
  ];
}

function fits_chart(fits, width) {
  const frame = fits_frame(fits, width);
  const {box, height, y} = frame;
  return h('figure', null, scatter_legend([...new Set(fits.map((f) => f.name))]),
    s('svg', {
      viewBox: `0 0 ${width} ${height}`,
      role: 'img',
      'aria-label': 'Transfer time by message size, measured and fitted'
    },
    size_axis(frame), grid_lines(box, powers_of(frame, 20), y, (v) => round(ns(v))),
    s('text', {x: 0, y: 12}, 'transfer time'),
    s('text', {x: box.right, y: height - 4, 'text-anchor': 'end'}, 'message size'),
    fits.map((f) => fit_marks(frame, f))),
    h('figcaption', null, 'Points: the usual time of each size. Lines: start + bytes ÷ rate, ' +
      'piece by piece.'));
}

export function fits_table(fits) {
  const rows = fits.flatMap((f) => f.pieces.map((p) => ({...p, fit: f})));
  return data_table({
    label: 'Transfer time by size',
    rows,
    limit: 12,
    columns: [
      {label: 'Collective', text: true, value: (r) => fit_name(r.fit)},
      figure_column('From', 'from_bytes', bytes),
      figure_column('To', 'to_bytes', bytes),
      figure_column('Calls', 'calls', count),
      figure_column('Start', 'start_ns', ns),
      {
        label: '95 %',
        value: (r) => r.start_interval_ns[0],
        show: (r) => between(r.start_interval_ns, ns)
      },
      figure_column('GB/s', 'gb_per_s', number),
      {
        label: '95 %',
        value: (r) => r.interval_gb_per_s[0],
        show: (r) => between(r.interval_gb_per_s, number)
      },
      {
        label: 'Error',
        value: (r) => r.fit.mean_error,
        show: (r) => `${percent(r.fit.mean_error)}, at most ${percent(r.fit.max_error)}`,
        tip: 'Of the fit over all its sizes: mean, and the largest'
      },
      {
        label: 'R²',
        value: (r) => r.fit.r_squared,
        show: (r) => r.fit.r_squared.toFixed(4),
        tip: 'Of the usual times of all sizes. The largest times decide it'
      },
    ]
  });
}

export function link_fits_part(report) {
  const fits = (report.link_fits || []).filter((f) => !f.refused);
  const refused = (report.link_fits || []).filter((f) => f.refused);
  if (!fits.length && !refused.length) return null;
  return [
    h('h3', null, 'Transfer time by size'),
    fits.length > 0 && fitted((width) => fits_chart(fits, width)),
    fits.length > 0 && fits_table(fits),
    refused.length > 0 &&
        note(`No fit: ${refused.map((f) => `${fit_name(f)} (${f.refused})`).join('; ')}.`),
  ];
}
