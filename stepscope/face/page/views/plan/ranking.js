// SPDX-License-Identifier: Apache-2.0
// The fastest plan of each shape, and of each number of devices.

import {h, note} from '../../draw/elements.js';
import {data_table, figure_column} from '../../draw/table.js';
import {bytes, compact, ns, percent} from '../../format/numbers.js';

export const plan_columns = [
  {label: 'GPUs', value: (r) => r.plan.devices},
  {label: 'Step', value: (r) => r.step_time_ns, show: (r) => ns(r.step_time_ns), share: true},
  figure_column('MFU', 'mfu', percent),
  figure_column('Tokens/s', 'tokens_per_second', compact),
  {label: 'Memory', value: (r) => r.memory_bytes.total, show: (r) => bytes(r.memory_bytes.total)},
  {label: '', value: (r) => (r.near_tie ? '≈' : ' '), text: true,
    tip: 'Within the model\'s error of the fastest'},
  {label: 'Plan', value: (r) => r.brief, text: true, show: (r) => h('span',
    {'data-tip': r.words}, r.brief)}
];

export function plan_ranking(report) {
  const near = report.best.filter((p) => p.near_tie).length;
  return [
    data_table({label: 'The fastest of each shape', rows: report.best, columns: plan_columns}),
    near > 1 && note(`≈: within the model's error (${percent(report.model_error)}) of the ` +
        'fastest: a measurement decides between them.'),
    note('A plan is written micro-batch × count at its end: 2×16 is 16 micro-batches of 2 ' +
        'sequences.')
  ];
}

export const plan_devices = (report) =>
    data_table({label: 'By devices', rows: report.by_devices, columns: plan_columns});
