// SPDX-License-Identifier: Apache-2.0
// Memory by class, planned and measured, and the collectives of a run.

import {missing} from '../../draw/elements.js';
import {data_table, figure_column} from '../../draw/table.js';
import {hyphened, plain} from '../../format/names.js';
import {bytes, count, known, ns, signed_percent, sum} from '../../format/numbers.js';

const planned = (rows) => sum(rows.map((m) => m.planned_bytes));
const measured = (rows) => sum(rows.map((m) => m.measured_bytes));

// All classes together, as a row like the others; null without any.
export const whole_memory = ({memory}) => (memory.length ?
  {name: 'all', planned_bytes: planned(memory), measured_bytes: measured(memory)} : null);

export function train_memory(report) {
  if (!report.memory.length) return missing('No memory was counted.');
  const difference = (m) => (m.planned_bytes > 0 ? m.measured_bytes / m.planned_bytes - 1 : null);
  return data_table({
    label: 'Memory',
    rows: [...report.memory, whole_memory(report)],
    columns: [
      {label: 'Class', text: true, value: (m) => plain(m.name)},
      figure_column('Planned', 'planned_bytes', bytes),
      {label: 'Measured', value: (m) => m.measured_bytes, show: (m) => bytes(m.measured_bytes),
        share: true},
      {label: 'Difference', value: difference,
        show: (m) => (known(difference(m)) ? signed_percent(difference(m)) : null)}
    ]
  });
}

const time = (label, key, tip) => ({label, value: (c) => c[key], show: (c) => ns(c[key]), tip});

export const train_collectives = (report) => data_table({
  label: 'Collectives',
  rows: report.collectives,
  limit: 20,
  columns: [
    {label: 'Collective', text: true, value: (c) => hyphened(c.kind)},
    {label: 'Ranks', value: (c) => c.group_size},
    figure_column('Calls', 'calls', count),
    figure_column('Buffers', 'bytes', bytes),
    figure_column('Sent', 'sent_bytes', bytes),
    time('Transfer', 'transfer_ns', 'From the last arrival to the end; mean over ranks'),
    time('Waiting', 'wait_ns', 'From the own arrival to the last'),
    time('Stalled', 'stall_ns', 'That the training thread stood still for them'),
    {
      label: 'Bus bandwidth',
      value: (c) => (c.transfer_ns > 0 ? c.sent_bytes / c.transfer_ns : null),
      show: (c) => (c.transfer_ns > 0 && c.sent_bytes > 0 ?
        `${bytes(1e9 * c.sent_bytes / c.transfer_ns)}/s` : null)
    }
  ]
});
