// SPDX-License-Identifier: Apache-2.0
// The inputs: files, clocks, and each reader's notes.

import {h, missing, note} from '../../draw/elements.js';
import {data_table, figure_column} from '../../draw/table.js';
import {notes_text, runs} from '../../format/names.js';
import {bytes, count, digits, known, none, ns} from '../../format/numbers.js';
import {record} from './record.js';
import {recording_table} from './job/recording.js';

export function inputs_section(report) {
  const rows = report.inputs;
  if (!rows.length) return missing('No input.');
  return [
    data_table({
      label: 'Inputs',
      rows,
      limit: 12,
      filter: rows.length > 12 && 'Filter by path',
      columns: [
        {label: 'File', name: true, value: (r) => r.path},
        {label: 'Format', text: true, value: (r) => r.format},
        {label: 'Rank', value: (r) => r.rank, show: (r) => (known(r.rank) ? String(r.rank) : none)},
        {label: 'Clock', text: true, value: (r) => r.clock},
        figure_column('Events', 'events', count),
        figure_column('Size', 'bytes', bytes), {
          label: 'Remarks',
          text: true,
          class: 'wide',
          value: (r) => [r.error, r.truncated && 'truncated', notes_text(r.notes)]
                            .filter(Boolean)
                            .join('; ') ||
              null
        }
      ]
    }),
    note(
        report.job.clocks_comparable ? `Clocks are comparable between ranks${
                                           known(report.job.clock_uncertainty_ns) ?
                                               `, to ${ns(report.job.clock_uncertainty_ns)}` :
                                               ''}.` :
            report.ranks.length > 1 ? record.clocks :
                                      'One rank: clocks of ranks do not matter.'),
    clocks_note(report),
    recording_table(report),
    windows_table(report),
  ];
}

// First to last device operation of each GPU, independent of steps.
function windows_table(report) {
  const rows = report.ranks.flatMap(
      (r) => [r.gpu_window].flat().filter(Boolean).map((w) => ({rank: r.rank, ...w})));
  if (!rows.length) return null;
  const time = (label, key) => ({label, value: (w) => w[key], show: (w) => ns(w[key])});
  return h(
      'details', {class: 'notes'},
      h('summary', null, 'First to last device operation of every GPU'), data_table({
        label: 'GPU windows',
        rows,
        limit: 12,
        columns: [
          figure_column('Rank', 'rank', String),
          {label: 'Device', text: true, value: (w) => w.device}, {
            label: 'Window',
            value: (w) => w.end_ns - w.start_ns,
            show: (w) => ns(w.end_ns - w.start_ns)
          },
          time('Compute', 'compute_ns'), time('Communication', 'comm_ns'),
          time('Both', 'overlap_ns'), time('Copies', 'copy_ns'), time('Busy', 'busy_ns'),
          time('Idle', 'idle_ns')
        ]
      }));
}

// The alignment of the clocks of several hosts; null for one host.
function clocks_note(report) {
  const clocks = report.clock_alignment;
  if (!clocks || clocks.hosts.length < 2) return null;
  const name = (host) => `${host.host ? `${host.host}, ` : ''}ranks ${runs(host.ranks)}`;
  const moved = clocks.hosts.filter((host) => known(host.offset_ns) && host.offset_ns !== 0);
  const spread = known(clocks.spread_ns) ?
      ` Ends of a collective lie ${ns(clocks.spread_ns)} apart as recorded${
          known(clocks.spread_aligned_ns) ? `, ${ns(clocks.spread_aligned_ns)} aligned` : ''}.` :
      '';
  return note(
      clocks.applied ?
          `Clocks are corrected: ${moved.map((host) =>
            `${name(host)} ${ns(Math.abs(host.offset_ns))} ${
              host.offset_ns < 0 ? 'behind' : 'ahead'} ± ${ns(host.uncertainty_ns)}${
              host.drift_ppm ? `, ${digits(host.drift_ppm)} ppm` : ''}`).join('; ')}.${spread}` :
          `Clocks are as recorded: ${clocks.reason}.${spread}`);
}
