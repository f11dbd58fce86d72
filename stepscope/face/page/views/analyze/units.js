// SPDX-License-Identifier: Apache-2.0
// Parameters of sharded units: whether they arrived before their use, and the exposed time of
// reducing their gradients.

import {h, note} from '../../draw/elements.js';
import {data_table} from '../../draw/table.js';
import {capitalised} from '../../format/names.js';
import {count, known, none, ns} from '../../format/numbers.js';

const unit_columns = [
  {label: 'Unit', text: true, value: (u) => u.unit},
  {label: 'Pass', text: true, value: (u) => u.pass},
  {label: 'Hits', value: (u) => u.hits, show: (u) => count(u.hits), tip: 'There when needed'},
  {
    label: 'Late',
    value: (u) => u.late,
    show: (u) => count(u.late),
    tip: 'Asked for while something computed, but there only after it was needed'
  },
  {
    label: 'Misses',
    value: (u) => u.misses,
    show: (u) => count(u.misses),
    tip: 'Asked for when nothing was left to compute'
  },
  {
    label: 'Late a step',
    value: (u) => u.late_ns,
    show: (u) => ns(u.late_ns),
    tip: 'Mean over ranks'
  },
  {label: 'Transfer', value: (u) => u.transfer_ns, show: (u) => ns(u.transfer_ns), tip: 'Median'},
  {
    label: 'Ahead',
    value: (u) => u.ahead,
    show: (u) => count(u.ahead),
    tip: 'Units whose turn came between asking and use: median'
  },
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
  {label: 'Reductions', value: (u) => u.count, show: (u) => count(u.count)},
  {
    label: 'Exposed a step',
    value: (u) => u.exposed_ns,
    show: (u) => ns(u.exposed_ns),
    tip: 'Mean over ranks'
  },
  {label: 'Ready to done', value: (u) => u.lag_ns, show: (u) => ns(u.lag_ns), tip: 'Median'},
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
