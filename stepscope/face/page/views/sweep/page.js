// SPDX-License-Identifier: Apache-2.0
// The page of a sweep: the fastest value, and its sections in order.

import {fitted} from '../../draw/chart.js';
import {h, missing, note, swatch, unbroken} from '../../draw/elements.js';
import {figures, remarks} from '../../draw/figures.js';
import {line_chart} from '../../draw/line_chart.js';
import {strip_chart, strip_of} from '../../draw/strips.js';
import {data_table, figure_column} from '../../draw/table.js';
import {plural} from '../../format/names.js';
import {
  between, count, known, ns, number, round, signed_percent, sum
} from '../../format/numbers.js';
import {launch_columns} from '../compare/arms.js';

const most_strips = 40;

const smallest = 'smallest median';
const verdict_of = (v) => (v.best ? smallest : v.tie ? 'ties with it' : 'slower');
const colour_of_value = (v) => (v.best ? 'idle_data' : v.tie ? 'compute' : 'comm_exposed_transfer');

function sweep_hero(report) {
  const best = report.values.find((v) => v.best);
  const slowest = report.values.reduce((x, v) => (v.ratio > (x ? x.ratio : 0) ? v : x), null);
  const rows = best ? [
    ['Smallest median', `${report.name} = ${best.value}`, `median ${ns(best.median_ns)}`],
    ['Ties', report.ties.length ? report.ties.join(', ') : 'none', 'not called slower'],
    slowest && !slowest.best && ['Slowest', `${report.name} = ${slowest.value}`,
      `${signed_percent(slowest.ratio - 1)} against the fastest`],
    ['Launches', count(report.order.length),
      `${plural(sum(report.values.map((v) => v.steps)), 'step')} after warm-up`]
  ].filter(Boolean) : [];
  return h('header', {class: 'hero'},
    h('p', {class: 'kicker'}, `${plural(report.values.length, 'value')} of ${report.name}`),
    h('h1', null, unbroken(report.answer.sentence)), figures(rows),
    remarks(report.warnings, 'this sweep'));
}

function sweep_values(report) {
  const strips = report.values.map((v) => strip_of(`${report.name} = ${v.value} · ${verdict_of(v)}`,
    v.launches, colour_of_value(v), {head: v.best}));
  if (!strips.some((x) => x.sorted.length)) return missing('There is no step.');
  const key = [['idle_data', smallest], ['compute', 'ties with it'],
    ['comm_exposed_transfer', 'slower']];
  return [
    h('div', {class: 'legend'}, key.map(([colour, name]) =>
      h('span', {class: 'plain'}, swatch(colour), name))),
    fitted((width) => strip_chart(strips.slice(0, most_strips), 'Step times by value', width)),
    strips.length > most_strips &&
        note(`The first ${most_strips} of ${count(strips.length)} values; the table has all.`)];
}

function sweep_table(report) {
  const long = report.values.some((v) => v.value.length > 24);
  return data_table({
    label: 'Values',
    rows: report.values,
    limit: 40,
    columns: [
      {label: report.name, text: true, class: long && 'wide', value: (v) => v.value},
      {label: 'Result', text: true, value: verdict_of, show: (v) => h('span', {class: 'chip'},
        swatch(colour_of_value(v)), verdict_of(v))},
      figure_column('Steps', 'steps', count),
      {label: 'Median', value: (v) => v.median_ns, show: (v) => ns(v.median_ns), share: true,
        hue: colour_of_value},
      figure_column('95 %', 'p95_ns', ns),
      {label: 'Against the fastest', value: (v) => v.ratio,
        show: (v) => (v.best ? null : signed_percent(v.ratio - 1))},
      {
        label: 'Interval',
        value: (v) => (v.interval ? v.interval[0] : null),
        show: (v) => (v.interval ? between(v.interval, (x) => signed_percent(x - 1)) : null)
      },
      {label: 'q', value: (v) => v.q, show: (v) => (known(v.q) ? v.q.toFixed(3) : null),
        tip: 'False-discovery rate among all values'},
      figure_column('Effective steps', 'n_eff', number)
    ]
  });
}

// The launches in the order they ran: [{value, name, median_ns, ...}].
export function launches_in_order(report) {
  const next = new Map(report.values.map((v) => [v.value, 0]));
  const of_value = new Map(report.values.map((v) => [v.value, v.launches]));
  return report.order.flatMap((value) => {
    if (!of_value.has(value)) return [];
    const i = next.get(value);
    next.set(value, i + 1);
    const launch = of_value.get(value)[i];
    return launch ? [{...launch, value}] : [];
  });
}

function sweep_launches(report) {
  const launches = launches_in_order(report);
  const verdict = new Map(report.values.map((v) => [v.value, v]));
  if (launches.length < 2) return missing('There is one launch.');
  const series = [...new Set(launches.map((l) => colour_of_value(verdict.get(l.value))))];
  const named = {idle_data: smallest, compute: 'ties with it', comm_exposed_transfer: 'slower'};
  return [
    fitted((width) => line_chart({
      numbers: launches.map((_, i) => i + 1),
      title: 'median step of each launch, in the order they ran',
      show: (v) => round(ns(v)),
      lines: series.map((colour) => ({name: named[colour], colour, dots: true,
        values: launches.map((l) => (colour_of_value(verdict.get(l.value)) === colour ?
          l.median_ns : null))})),
      spoken: launches.slice(0, 20).map((l) => `${l.value} ${ns(l.median_ns)}`).join(', '),
      tip: (i) => `launch ${i + 1}: ${report.name} = ${launches[i].value}\nmedian ${
        ns(launches[i].median_ns)}, ${plural(launches[i].steps, 'step')}`
    }, width)),
    data_table({
      label: 'Launches',
      rows: launches,
      limit: 25,
      columns: [{label: report.name, text: true, value: (l) => l.value}, ...launch_columns]
    })];
}

export const sweep_page = (report) => ({
  report,
  hero: sweep_hero,
  sections: [
    {id: 'values', title: 'Step times by value', draw: sweep_values},
    {
      id: 'table',
      title: 'Values',
      lede: 'Each compared with the fastest. A value ties if it is not called slower.',
      draw: sweep_table
    },
    {id: 'launches', title: 'Launches', draw: sweep_launches}
  ]
});
