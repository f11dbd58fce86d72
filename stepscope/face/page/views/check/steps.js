// SPDX-License-Identifier: Apache-2.0
// The job's step times in order, and the outliers among them.

import {fitted} from '../../draw/chart.js';
import {missing, note} from '../../draw/elements.js';
import {line_chart} from '../../draw/line_chart.js';
import {data_table, figure_column} from '../../draw/table.js';
import {plain, plural} from '../../format/names.js';
import {count, known, ns, round, signed_ns} from '../../format/numbers.js';

// The index of the first column whose steps are counted; columns that hold both kinds count.
export const first_counted = ({steps, warm_up, columns}) =>
  (steps > 0 ? Math.floor((warm_up / steps) * columns.length) : 0);

const step_name = (c) => (c.first === c.last ? `step ${c.first}` : `steps ${c.first} to ${c.last}`);

// Lasting changes that the log shows: the column in which each begins, and its words.
export const change_marks = (columns, changes) => changes.flatMap((c) => {
  const index = known(c.iteration) ?
    columns.findIndex((x) => x.first <= c.iteration && c.iteration <= x.last) : -1;
  return index < 0 ? [] :
    [{index, name: `from ${c.iteration}: ${ns(c.before_ns)} → ${ns(c.after_ns)}`}];
});

function steps_chart(times, changes, width) {
  const {columns, job} = times;
  const many = times.steps > columns.length;
  return line_chart({
    numbers: columns.map((c) => c.first),
    title: 'step time',
    show: (v) => (v === 0 ? '0' : round(ns(v))),
    lines: [{name: many ? 'median of a few steps' : 'step', colour: 'compute',
      values: columns.map((c) => c.median_ns)}],
    band: many ? columns.map((c) => ({least: c.min_ns, most: c.max_ns})) : [],
    band_name: many && 'shortest to longest of them',
    from: {index: first_counted(times), name: 'warm-up'},
    marks: change_marks(columns, changes),
    spoken: `Times of ${plural(times.steps, 'step')}${
      job ? `: median ${ns(job.median_ns)}, ${ns(job.min_ns)} to ${ns(job.max_ns)}` : ''}`,
    tip: (i) => {
      const c = columns[i];
      return `${step_name(c)}: ${ns(c.median_ns)}${
        c.min_ns < c.max_ns ? `\n${ns(c.min_ns)} to ${ns(c.max_ns)}` : ''}`;
    },
    zero: true
  }, width);
}

function outliers_table(steps) {
  return steps.outliers.length > 0 && data_table({
    label: 'Outliers by cause',
    rows: steps.outliers,
    columns: [
      {label: 'Outliers by cause', text: true, value: (o) => plain(o.cause)},
      figure_column('Steps', 'count', count),
      figure_column('Median', 'median_ns', ns),
      figure_column('Beyond the median', 'extra_ns', signed_ns, 'Summed over these steps'),
      {label: 'Every', value: (o) => o.every,
        show: (o) => (known(o.every) ? plural(o.every, 'step') : null)}
    ]
  });
}

export function check_steps(report) {
  const times = report.step_times;
  if (!times.columns.length) return missing('No step was found.');
  return [
    fitted((width) => steps_chart(times, report.log ? report.log.changes : [], width)),
    times.warm_up > 0 && note(`The figures leave out ${plural(times.warm_up, 'step')} of warm-up.`),
    outliers_table(report.steps)];
}
