// SPDX-License-Identifier: Apache-2.0
// The outcome of the searched plans.

import {note} from '../../draw/elements.js';
import {data_table, figure_column} from '../../draw/table.js';
import {count, part} from '../../format/numbers.js';

export function plan_rejected(report) {
  const rows = [
    {what: 'evaluated completely, and fits', plans: report.feasible},
    ...Object.entries(report.rejected).map(([what, plans]) => ({what, plans}))
  ].filter((r) => r.plans > 0);
  return [
    data_table({
      label: 'What became of the plans',
      rows,
      columns: [
        {label: 'Plans that', value: (r) => r.what, text: true, class: 'wide'},
        figure_column('Count', 'plans', count),
        {label: 'Share', value: (r) => r.plans, show: (r) => part(r.plans, report.candidates),
          share: true}
      ]
    }),
    note(`${count(report.candidates)} in all; ${count(report.evaluated)} were timed completely, ` +
        'the others were left out by a rule or by a bound that proves that they cannot matter.')
  ];
}
