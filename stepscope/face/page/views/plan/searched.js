// SPDX-License-Identifier: Apache-2.0
// The outcome of the searched plans.

import {note} from '../../draw/elements.js';
import {data_table, figure_column} from '../../draw/table.js';
import {count, percents_to_sum} from '../../format/numbers.js';

export function plan_rejected(report) {
  const rows = [
    {what: 'evaluated completely, and fits', plans: report.feasible},
    ...Object.entries(report.rejected).map(([what, plans]) => ({what, plans}))
  ].filter((r) => r.plans > 0);
  const shown = percents_to_sum(rows.map((r) => r.plans / report.candidates));
  return [
    data_table({
      label: 'What became of the plans',
      rows: rows.map((r, i) => ({...r, shown: shown[i]})),
      columns: [
        {label: 'Plans that', value: (r) => r.what, text: true, class: 'wide'},
        figure_column('Count', 'plans', count),
        {label: 'Share', value: (r) => r.plans, show: (r) => r.shown, share: true}
      ]
    }),
    note(`${count(report.candidates)} in all; ${count(report.evaluated)} were timed completely, ` +
        'the others were left out by a rule or by a bound that proves that they cannot matter.')
  ];
}
