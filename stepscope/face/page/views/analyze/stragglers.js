// SPDX-License-Identifier: Apache-2.0
// Late ranks: a heat map of ranks by steps, relative to the median arrival, and the ranks in order.

import {fitted} from '../../draw/chart.js';
import {h, missing, note, s} from '../../draw/elements.js';
import {data_table, figure_column} from '../../draw/table.js';
import {plural, ranks_text} from '../../format/names.js';
import {count, known, largest, none, ns, percent, sum} from '../../format/numbers.js';
import {bundles_or_ranks} from './job/bundle_choice.js';
import {record} from './record.js';

const heat_ranks = 128;

const row_name = (r) => (r.ranks ? ranks_text(r.ranks, 2) : `rank ${r.rank}`);

// One rank in one step: [its rectangle, its number if it fits].
function heat_cell(grid, r, late, index, x, y) {
  const {left, wide, tall, most} = grid;
  const place = {x: left + x * wide, y: y * tall, width: wide, height: tall};
  if (late === undefined) {
    const tip = `${row_name(r)}: step ${index} is missing`;
    return s('rect', {class: 'cell', ...place, fill: 'none', 'data-tip': tip});
  }
  const strength = Math.abs(late) / most;
  const side = late < 0 ? 'before' : 'behind';
  const tip = `${row_name(r)}, step ${index}\n${ns(Math.abs(late))} ${side} the median arrival, ` +
      `summed over collectives${r.ranks && r.ranks.length > 1 ? ', mean of the ranks' : ''}`;
  const fill = late < 0 ? 'var(--accent)' : 'var(--comm_exposed_wait)';
  const opacity = (0.05 + 0.95 * strength).toFixed(3);
  const middle = {x: place.x + wide / 2, y: place.y + tall / 2 + 4, 'text-anchor': 'middle'};
  const look = {class: strength > 0.5 ? 'on-dark' : 'ink', 'font-size': 10.5};
  return [
    s('rect', {class: 'cell', ...place, fill, 'fill-opacity': opacity, 'data-tip': tip}),
    grid.numbers && s('text', {...middle, ...look, 'pointer-events': 'none'}, ns(late))];
}

function heat_row(grid, indices, r, y) {
  const {left, tall} = grid;
  const by_index = new Map(r.steps.map((x) => [x.index, x.late_ns]));
  const place = {x: left - 8, y: y * tall + tall / 2 + 4, 'text-anchor': 'end'};
  const named = tall >= 11 || y % 4 === 0;
  return [
    named && s('text', {...place, class: r.accused ? 'guilty' : null},
      tall >= 18 ? row_name(r) : r.rank),
    indices.map((index, x) => heat_cell(grid, r, by_index.get(index), index, x, y))];
}

function heat_map(rows, room) {
  const indices = [...new Set(rows.flatMap((r) => r.steps.map((x) => x.index)))];
  indices.sort((a, b) => a - b);
  const most = largest(rows.flatMap((r) => r.steps.map((x) => Math.abs(x.late_ns)))) || 1;
  const left = rows.some((r) => r.ranks && r.ranks.length > 1) ? 190 : 58;
  const wide = Math.max(2, Math.min(100, (room - left) / indices.length));
  const tall = Math.max(8, Math.min(24, 900 / rows.length));
  const grid = {left, wide, tall, most, numbers: wide >= 46 && tall >= 18};
  const width = left + indices.length * wide;
  const foot = rows.length * tall + 16;
  const every = Math.max(1, Math.ceil(34 / wide));
  const steps = indices.map((index, x) => x % every === 0 &&
    s('text', {x: left + x * wide + wide / 2, y: foot, 'text-anchor': 'middle'}, index));
  const spoken = `Lateness of ${rows.length} ranks over ${plural(indices.length, 'step')}; ` +
      `the largest is ${ns(most)}`;
  const frame = {viewBox: `0 0 ${width} ${foot + 8}`, style: {width: `${width}px`}};
  return h('figure', null,
    s('svg', {class: 'heat', ...frame, role: 'img', 'aria-label': spoken},
      rows.map((r, y) => heat_row(grid, indices, r, y)), steps),
    h('figcaption', null, 'Step across, rank down. Median arrival',
      h('span', {class: 'scale'}), ns(most), ' late'));
}

// Ranks that are never late are not listed; on the map they have the background's colour.
export function with_punctual(rows, ranks) {
  const listed = new Set(rows.map((r) => r.rank));
  const punctual = ranks.filter((r) => !listed.has(r.rank)).map((r) => ({
    rank: r.rank, late_ns: 0, steps: r.steps.map((x) => ({index: x.index, late_ns: 0})),
  }));
  return [...rows, ...punctual];
}

// The mean lateness of several ranks by step.
function mean_lateness(rows) {
  const by_index = new Map();
  for (const {index, late_ns} of rows.flatMap((r) => r.steps))
    by_index.set(index, [...(by_index.get(index) || []), late_ns]);
  return {
    late_ns: sum(rows.map((r) => r.late_ns)) / rows.length,
    steps: [...by_index].map(([index, all]) => ({index, late_ns: sum(all) / all.length}))
  };
}

// The latest rows in the order of their ranks.
function latest_map(rows) {
  const shown = [...rows].sort((a, b) => b.late_ns - a.late_ns).slice(0, heat_ranks)
      .sort((a, b) => a.rank - b.rank);
  return [fitted((width) => heat_map(shown, width)),
          rows.length > heat_ranks &&
              note(`Shown: the ${heat_ranks} latest of ${count(rows.length)} ranks.`)];
}

export function stragglers_section(report) {
  const rows = report.stragglers;
  if (!rows.length) {
    if (report.ranks.length < 2) return missing(record.ranks);
    if (!report.job.clocks_comparable) return missing(record.clocks);
    return missing(
        'No collective could be matched over these ranks, so nobody is early or late. Record ' +
        'the same steps on every rank of a process group.');
  }
  const mapped = with_punctual(rows, report.ranks);
  const uncertain = report.job.clock_uncertainty_ns;
  const nobody = rows.every((r) => r.significant === false);
  return [
    nobody && h('p', {class: 'lede'},
      'No rank is late enough, and often enough, to be a straggler.'),
    mapped.some((r) => r.steps.length) &&
        bundles_or_ranks(report, mapped, latest_map, {mean: mean_lateness}),
    data_table({
      label: 'Ranks by arrival lateness',
      rows,
      sort: 2,
      limit: 10,
      filter: rows.length > 10 && 'Filter by role or cause',
      columns: [
        figure_column('Rank', 'rank', String),
        {label: 'Role', text: true, value: (r) => r.role}, figure_column(
            'Late', 'late_ns', ns,
            'Time behind the median arrival, summed over collectives and steps'),
        figure_column('of its steps', 'late_share', percent), {
          label: 'Costs a step',
          value: (r) => r.upper_bound_ns,
          show: (r) => `≤ ${ns(r.upper_bound_ns)}`,
          tip: 'An upper bound: some of it may be hidden behind other work'
        },
        {
          label: 'Last to arrive',
          value: (r) => r.last_count,
          show: (r) => `${count(r.last_count)} of ${count(r.collectives)}`
        },
        {
          label: 'Latest rank in',
          value: (r) => r.persistence,
          show: (r) => `${percent(r.persistence)} of steps`
        },
        {
          label: 'Meanwhile',
          text: true,
          class: 'wide',
          value: (r) => r.cause,
          show: (r) => r.cause || none
        }
      ]
    }),
    note(
        'Ranks of one role are compared, by arrival: the work before a collective, never the ' +
            'time after it.',
        known(uncertain) ?
            ` Clock uncertainty ${ns(uncertain)}: a smaller difference means nothing.` :
            ''),
  ];
}
