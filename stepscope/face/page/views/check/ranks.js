// SPDX-License-Identifier: Apache-2.0
// Step times by rank, as a table and as a map of ranks and steps.

import {fitted} from '../../draw/chart.js';
import {missing} from '../../draw/elements.js';
import {heat_map} from '../../draw/heat_map.js';
import {data_table, figure_column} from '../../draw/table.js';
import {count, largest, ns, signed_percent} from '../../format/numbers.js';

const most_in_order = 25;  // ranks; of more those with the longest steps are first

const time = (label, key) => ({label, value: (r) => r[key], show: (r) => ns(r[key])});

function ranks_table(times) {
  const several = times.ranks.length > 1;
  const many = times.ranks.length > most_in_order;
  return data_table({
    label: 'Step times by rank',
    rows: [...(times.job ? [{rank: null, ...times.job}] : []), ...times.ranks],
    limit: most_in_order,
    sort: many ? 7 : -1,
    columns: [
      {
        label: 'Rank',
        value: (r) => r.rank,
        show: (r) => (r.rank === null ? 'job' : String(r.rank))
      },
      figure_column('Steps', 'steps', count),
      time('Shortest', 'min_ns'), time('Median', 'median_ns'), time('95 %', 'p95_ns'),
      time('Longest', 'max_ns'),
      {
        label: 'Outliers',
        value: (r) => r.outliers,
        show: (r) => count(r.outliers),
        tip: "Steps far from the rank's usual ones (Hampel's rule on logarithms, three deviations)"
      },
      several && {
        label: 'Against the median rank',
        value: (r) => r.deviation,
        show: (r) => (r.rank === null ? null : signed_percent(r.deviation)),
        tip: 'Median over its steps: its time over the median of the ranks at the same step'
      }
    ].filter(Boolean)
  });
}

const from_to = (word, first, last) => (first === last ? `${word} ${first}` :
  `${word}s ${first} to ${last}`);

function ranks_map({map, columns, ranks}, width, tips) {
  const most = ranks.reduce((a, r) => (Math.abs(r.deviation || 0) > Math.abs(a.deviation || 0) ?
    r : a), ranks[0] || {});
  return heat_map({
    cells: map.map((r) => r.deviations),
    row_name: (a, b) => from_to('rank', map[a].first_rank, map[b].last_rank),
    row_mark: (a) => `rank ${map[a].first_rank}`,
    column_name: (a, b) => from_to('step', columns[a].first, columns[b].last),
    column_mark: (a) => columns[a].first,
    spoken: `Deviation of ${map.length} rows of ranks from the median rank, step by step` +
      (largest(ranks.map((r) => Math.abs(r.deviation))) > 0 ?
        `; furthest is rank ${most.rank}, ${signed_percent(most.deviation)}` : ''),
    caption: 'Step across, rank down. Colour: time of the step against the median of the ranks.'
  }, width, tips);
}

export function check_ranks(report, tips) {
  const times = report.step_times;
  if (!times.ranks.length && !times.map.length)
    return [
      missing('This input does not tell the ranks. Give the traces of all ranks, the JSON of ' +
        'stepscope train, or a table with the columns rank and step.'),
      times.job && ranks_table(times)];
  return [
    times.map.length > 1 && fitted((width) => ranks_map(times, width, tips)),
    ranks_table(times)];
}
