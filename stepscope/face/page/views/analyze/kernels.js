// SPDX-License-Identifier: Apache-2.0
// Where device time goes by kernel.

import {by_rank} from '../../draw/chosen.js';
import {h, missing, swatch} from '../../draw/elements.js';
import {data_table, figure_column, present} from '../../draw/table.js';
import {plain, plural} from '../../format/names.js';
import {count, ns, number, part, sum} from '../../format/numbers.js';
import {class_hue, class_label, over, rate_columns, share_column, time_column} from './rows.js';

function class_bar(rows) {
  const whole = sum(rows.map((c) => c.total_ns));
  const sorted = [...rows].sort((a, b) => b.total_ns - a.total_ns).filter((c) => c.total_ns > 0);
  if (!sorted.length) return null;
  const block = (c) => h('div', {
    class: 'fill', style: {width: `${(100 * c.total_ns) / whole}%`, '--c': `var(--${c.class})`},
    'data-tip': `${class_label(c)}: ${ns(c.total_ns)}, ${part(c.total_ns, whole)}\n` +
        plural(c.count, 'kernel'),
  });
  const entry = (c) => h('span', {class: 'plain'}, swatch(c.class), class_label(c),
    h('span', {class: 'amount'}, part(c.total_ns, whole)));
  const spoken = sorted.map((c) => `${class_label(c)} ${part(c.total_ns, whole)}`).join(', ');
  return [h('div', {class: 'stack tall', role: 'img', 'aria-label': spoken}, sorted.map(block)),
          h('div', {class: 'legend'}, sorted.map(entry))];
}

const counters_text = (counters) =>
    Object.entries(counters || {}).map(([k, v]) => `${plain(k)} ${number(v)}`).join(', ');

// A matmul that does not use the tensor cores gets a remark.
const class_text = (r) =>
    class_label(r) +
    (r.tensor_core === false && r.class === 'matmul' ? ', no tensor cores' : '');

const kernel_columns = [
  {label: 'Kernel', name: true, first: true, hue: class_hue, value: (r) => r.name},
  {label: 'Class', text: true, class: 'soft', value: class_text},
  share_column,
  time_column('Total', 'total_ns'),
  figure_column('Count', 'count', count),
  time_column('Mean', 'mean_ns'), time_column('Min', 'min_ns'), time_column('Max', 'max_ns'),
  ...rate_columns,
  {label: 'Counters', name: true, optional: true, value: (r) => counters_text(r.counters) || null},
];

export function kernels_section(report) {
  const ranks = report.ranks.filter((r) => (r.kernels || []).length);
  if (!ranks.length) {
    return missing('No device kernels in these traces: they were recorded on a CPU, or without ' +
                   'ProfilerActivity.CUDA.');
  }
  return by_rank(ranks, 'all', (some) => {
    const rows = over(some, 'kernels', (r) => r.name, 'total_ns');
    const columns = present(kernel_columns, rows);
    return [class_bar(over(some, 'kernel_classes', (r) => r.class, 'total_ns')),
            data_table({label: 'Kernels', rows, sort: 3, columns,
                        filter: 'Filter kernels by name or class'})];
  });
}
