// SPDX-License-Identifier: Apache-2.0
// Parameters of sharded units: whether they arrived before their use, and the exposed time of
// reducing their gradients.

import {h, note} from '../../draw/elements.js';
import {data_table, figure_column} from '../../draw/table.js';
import {capitalised} from '../../format/names.js';
import {count, known, none, ns} from '../../format/numbers.js';

const unit_columns = [
  {label: 'Unit', text: true, value: (u) => u.unit},
  {label: 'Pass', text: true, value: (u) => u.pass},
  figure_column('Hits', 'hits', count, 'There when needed'),
  figure_column(
      'Late', 'late', count,
      'Asked for while something computed, but there only after it was needed'),
  figure_column('Misses', 'misses', count, 'Asked for when nothing was left to compute'),
  figure_column('Late a step', 'late_ns', ns, 'Mean over ranks'),
  figure_column('Transfer', 'transfer_ns', ns, 'Median'),
  figure_column('Ahead', 'ahead', count, 'Units whose turn came between asking and use: median'),
  {
    label: 'Hidden by',
    value: (u) => u.hidden_by,
    show: (u) => (
      u.late + u.misses === 0 ? none : known(u.hidden_by) ? count(u.hidden_by) : 'none'),
    tip: 'How many units ahead would have hidden it'
  },
];

const reduction_columns = [
  {label: 'Unit', text: true, value: (u) => u.unit},
  figure_column('Reductions', 'count', count),
  figure_column('Exposed a step', 'exposed_ns', ns, 'Mean over ranks'),
  figure_column('Ready to done', 'lag_ns', ns, 'Median'),
];

export function units_part(report) {
  const waits = report.unit_waits;
  if (!waits) return null;
  const {units, reductions} = waits;
  const fetches = {label: 'Parameters of units', rows: units, limit: 10, columns: unit_columns};
  const gradients =
      {label: 'Gradients of units', rows: reductions, limit: 10, columns: reduction_columns};
  return [
    units.length > 0 &&
        [h('h3', null, fetches.label), waits.sentence && note(`${capitalised(waits.sentence)}.`),
         data_table(fetches)],
    reductions.length > 0 && [h('h3', null, gradients.label), data_table(gradients)],
  ];
}
