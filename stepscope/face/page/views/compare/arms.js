// SPDX-License-Identifier: Apache-2.0
// The step times of both arms, and their launches.

import {fitted} from '../../draw/chart.js';
import {missing, note} from '../../draw/elements.js';
import {strip_chart, strip_of} from '../../draw/strips.js';
import {data_table, figure_column} from '../../draw/table.js';
import {plain} from '../../format/names.js';
import {count, ns, percent, signed_ns, sum} from '../../format/numbers.js';

const most_launches = 12;  // of an arm, with a strip of their own
const arms = [['A', 'a', 'compute'], ['B', 'b', 'comm_exposed_transfer']];

// A strip for each arm, and for each of its launches if there are several.
export function strips_of(report) {
  return arms.flatMap(([letter, key, colour]) => {
    const arm = report[key];
    const several = arm.launches.length > 1;
    const whole = strip_of(several ? `${letter}: ${arm.launches.length} launches` :
      `${letter}: ${arm.label}`, arm.launches, colour, {head: true});
    return [whole, ...(several ? arm.launches.slice(0, most_launches)
        .map((l) => strip_of(`${letter}: ${l.name}`, [l], colour)) : [])];
  });
}

export function compare_distributions(report) {
  const strips = strips_of(report);
  if (!strips.some((x) => x.sorted.length)) return missing('There is no step.');
  const left_out = sum(arms.map(([, key]) =>
    Math.max(0, report[key].launches.length - most_launches)));
  return [
    fitted((width) => strip_chart(strips, 'Step times of both arms', width)),
    left_out > 0 && note(`Launches without a strip of their own: ${count(left_out)}. The table ` +
      'below has all.')];
}

function launch_rows(report) {
  return arms.flatMap(([letter, key]) => report[key].launches.map((l) => ({...l, letter})));
}

function outlier_rows(report) {
  return arms.flatMap(([letter, key]) => report[key].outliers.map((o) => ({...o, letter})));
}

export const launch_columns = [
  {label: 'Launch', text: true, class: 'wide', value: (l) => l.name},
  {label: 'Read from', text: true, value: (l) => l.source},
  figure_column('Steps', 'steps', count),
  {
    label: 'Warm-up',
    value: (l) => l.warm_up,
    show: (l) => (l.unsettled ? 'no end' : count(l.warm_up)),
    tip: 'Steps at the begin that are left out; no end: the time still changes'
  },
  figure_column('Median', 'median_ns', ns),
  figure_column('Mean', 'mean_ns', ns)
];

export function compare_arms(report) {
  const outliers = outlier_rows(report);
  const {drift} = report;
  const arm = {label: 'Arm', text: true, value: (l) => l.letter};
  return [
    data_table({label: 'Launches', rows: launch_rows(report), limit: 25,
      columns: [arm, ...launch_columns]}),
    report.order && note(`Launched in the order ${report.order}.`),
    drift && note(`In addition to the difference of the arms, the median changes by ${
      percent(drift.per_launch)} from one launch to the next (p = ${drift.p.toFixed(3)}).`),
    outliers.length > 0 && data_table({
      label: 'Outliers',
      rows: outliers,
      limit: 12,
      columns: [
        arm, {label: 'Outliers, kept', text: true, value: (o) => plain(o.cause)},
        figure_column('Steps', 'count', count),
        figure_column('Median', 'median_ns', ns),
        figure_column('Beyond the median', 'extra_ns', signed_ns, 'Summed over these steps')
      ]
    })];
}
