// SPDX-License-Identifier: Apache-2.0
// Device memory over time, its contents at the peak, and copies.

import {fitted, grid_lines} from '../../draw/chart.js';
import {by_rank} from '../../draw/chosen.js';
import {h, missing, note, s, swatch} from '../../draw/elements.js';
import {memory_use_colour} from '../../draw/looks.js';
import {memory_frame, memory_peak, memory_steps, thinned} from '../../draw/memory_chart.js';
import {data_table, facts, figure_column} from '../../draw/table.js';
import {plain} from '../../format/names.js';
import {
  bytes, count, digits, known, ns, number, part, percent, round, sum, ticks
} from '../../format/numbers.js';
import {label_of} from '../../terms.js';
import {record} from './record.js';

// The start of a stretch of a phase, if the report has it.
const phase_starts = (phases) => (phases.some((p) => known(p.start_ns)) ?
  [figure_column('Begins at', 'start_ns', ns)] : []);

function memory_chart(device, rank, width) {
  const points = thinned(device.timeline || [], 1600);
  if (points.length < 2) return note('Too few memory events to draw them over time.');
  const frame = memory_frame(device, points, width);
  const {box, line} = frame;
  const units = [[1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB'], [1, 'B']];
  const unit = units.find((u) => frame.top >= u[0]) || units[3];
  const marks = ticks(0, frame.top / unit[0], 5);
  const label = (t) => `${round(digits(t))} ${unit[1]}`;
  const area = `${line('allocated_bytes')}V${box.bottom}H${box.left}Z`;
  const allocated = {fill: 'none', stroke: 'var(--attention)', 'stroke-width': 1.3};
  const reserved = {fill: 'none', stroke: 'var(--soft)', 'stroke-dasharray': '5 3'};
  const with_reserved = points.some((p) => known(p.reserved_bytes));
  const spoken = `Memory over time, peak ${bytes(device.peak_allocated_bytes)}`;
  return h('figure', null,
    s('svg', {viewBox: `0 0 ${width} ${frame.height}`, role: 'img', 'aria-label': spoken},
      grid_lines(box, marks, (t) => frame.y(t * unit[0]), label),
      memory_steps(frame, rank.steps),
      s('path', {d: area, fill: 'var(--attention)', 'fill-opacity': 0.28}),
      s('path', {d: line('allocated_bytes'), ...allocated}),
      with_reserved && s('path', {d: line('reserved_bytes'), ...reserved}),
      memory_peak(frame, device)),
    h('figcaption', null, 'Filled: allocated.',
      with_reserved ? ' Dashed: reserved from the device.' : ''));
}

function composition(device) {
  const entries = Object.entries(device.composition_bytes || {}).filter(([, v]) => v > 0);
  const whole = sum(entries.map((e) => e[1]));
  if (!(whole > 0)) return null;
  return [
    h('h3', null, `At the peak${device.composition_inferred ? ' (inferred)' : ''}`),
    h('div', {
      class: 'stack tall',
      role: 'img',
      'aria-label': entries.map(([k, v]) => `${label_of('memory_use', k)} ${bytes(v)}`).join(', ')
    },
      entries.map(
          ([k, v]) => h('div', {
            class: `fill on-light ${k === 'unknown' ? 'dotted' : ''}`,
            style: {width: `${(100 * v) / whole}%`, '--c': `var(--${memory_use_colour(k)})`},
            'data-tip': `${label_of('memory_use', k)}: ${bytes(v)}, ${part(v, whole)}`
          }))),
    h('div', {class: 'legend'},
      entries.map(
          ([k, v]) =>
              h('span', {class: 'plain'},
                swatch(memory_use_colour(k), k === 'unknown' ? 'dotted' : ''),
                label_of('memory_use', k),
                h('span', {class: 'amount'}, bytes(v)))))
  ];
}

const recorded_bytes = (v) => (known(v) ? bytes(v) : 'not recorded');

const device_name = (d) =>
    (d.device === -1 ? 'host memory' : /^\d+$/.test(d.device) ? `device ${d.device}` : d.device);

function device_part(device, rank) {
  return [
    facts([
      ['Peak allocated', bytes(device.peak_allocated_bytes), device_name(device)],
      known(device.peak_reserved_bytes) && ['Peak reserved', bytes(device.peak_reserved_bytes)],
      known(device.headroom_bytes) && ['Headroom', bytes(device.headroom_bytes), 'of the device'],
      device.running_at_peak &&
          ['Running at the peak', h('span', {class: 'mono'}, device.running_at_peak)],
      known(device.uncounted_bytes) &&
          ['Not counted', bytes(device.uncounted_bytes), 'of the model']
    ]),
    device.older_counts === false &&
        note('What was allocated before the recording and stays is in none of these figures.'),
    fitted((width) => memory_chart(device, rank, width)), composition(device),
    (device.phases || []).length > 0 && data_table({
      label: 'Memory by phase',
      rows: device.phases,
      limit: 12,
      columns: [
        {label: 'Phase', text: true, value: (p) => plain(p.phase)},
        ...phase_starts(device.phases), figure_column('At its start', 'at_start_bytes', bytes),
        figure_column('At its end', 'at_end_bytes', bytes), {
          label: 'Change',
          value: (p) => p.change_bytes,
          show: (p) => `${p.change_bytes > 0 ? '+' : ''}${bytes(p.change_bytes).replace('-', '−')}`
        },
        figure_column('Peak', 'peak_allocated_bytes', bytes),
        figure_column('Reserved at the peak', 'reserved_bytes', recorded_bytes),
        figure_column('Reserved, not allocated', 'not_allocated_bytes', recorded_bytes),
        figure_column('Of the reserved', 'not_allocated_share', percent)
      ]
    })
  ];
}

// The devices one after the other. The host's own memory follows them, folded.
function devices_parts(rank) {
  const host = rank.memory.devices.filter((d) => d.device === -1);
  const devices = rank.memory.devices.filter((d) => d.device !== -1);
  if (!devices.length) return host.map((d) => device_part(d, rank));
  const folded = (d) => h('details', {class: 'notes'},
    h('summary', null, `Host memory, at most ${bytes(d.peak_allocated_bytes)}`),
    device_part(d, rank).flat(Infinity).filter(Boolean));
  return [devices.map((d) => device_part(d, rank)), host.map(folded)];
}

export function memory_section(report) {
  const ranks = report.ranks.filter(
      (r) => r.memory && ((r.memory.devices || []).length || (r.memory.copies || []).length));
  if (!ranks.length) return missing(record.memory);
  return by_rank(
      ranks, null,
      ([rank]) =>
          [(rank.memory.devices || []).length ?
               devices_parts(rank) :
               missing(record.memory),
           (rank.memory.copies || []).length > 0 &&
               [
                 h('h3', null, 'Copies'), data_table({
                   label: 'Copies',
                   rows: rank.memory.copies,
                   sort: 3,
                   columns: [
                     {label: 'Direction', text: true, value: (c) => c.direction}, {
                       label: 'Host memory',
                       text: true,
                       value: (c) =>
                           (c.pinned === null || c.pinned === undefined ? null :
                                c.pinned                                ? 'pinned' :
                                                                          'pageable')
                     },
                     figure_column('Count', 'count', count),
                     figure_column('Time', 'total_ns', ns),
                     figure_column('Bytes', 'bytes', bytes),
                     figure_column('GB/s', 'gb_per_s', number)
                   ]
                 })
               ],
  ]);
}
