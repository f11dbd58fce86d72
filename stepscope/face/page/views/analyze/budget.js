// SPDX-License-Identifier: Apache-2.0
// The time budget: the mean step as a ruler, then every rank and every step on the same scale.

import {
  axis, budget_legend, mean_budget, stack, total_of, visible
} from '../../draw/budget_bars.js';
import {chosen, live, rank_label, rank_of_choice} from '../../draw/chosen.js';
import {choice, h, missing, note, select, swatch} from '../../draw/elements.js';
import {categories} from '../../draw/looks.js';
import {data_table, figure_column} from '../../draw/table.js';
import {ranks_text} from '../../format/names.js';
import {count, known, none, ns, sum} from '../../format/numbers.js';
import {alike_note, bundles_of_report} from './job/alike.js';
import {record} from './record.js';

const bars_at_once = 64;

const known_open = (row) => (row.open === undefined ? null : String(row.open));

function bar_rows(rows, full) {
  return rows.map(
      (row) =>
          h('div', {class: 'bar-row'},
            h('span', {
              class: `label${row.strong ? ' strong' : ''}${row.accused ? ' guilty' : ''}`,
              'data-inner': row.inner
            },
              row.pick ? h('button', {
                type: 'button',
                class: 'link',
                'aria-expanded': known_open(row),
                'aria-label': `${row.tip || row.name}: show its ${row.tip ? 'ranks' : 'steps'}`,
                'data-tip': row.tip,
                on: {click: row.pick}
              },
                           row.name) :
                         row.name),
            stack(row.budget, full, row.name, row.strong),
            h('span', {class: 'value'}, ns(total_of(row.budget)))));
}

// Without step markers the whole trace is one step, and its name says so.
export const one_window = (ranks) =>
    ranks.some((r) => r.steps.length) &&
    ranks.every((r) => r.steps.every((x) => x.name === 'window'));

const step_name = (x) => (x.name === 'window' ? 'window' : `step ${x.index}`);

// The steps of the chosen rank, or for each step index the mean over ranks.
function step_rows(ranks) {
  const one = rank_of_choice(ranks);
  if (one) return one.steps.map((x) => ({name: step_name(x), budget: x.budget_ns}));
  const by_index = new Map();
  for (const r of ranks)
    for (const x of r.steps) by_index.set(x.index, [...(by_index.get(x.index) || []), x.budget_ns]);
  return [...by_index]
      .sort((a, b) => a[0] - b[0])
      .map(([index, all]) => {
        const name = step_name({index, name: one_window(ranks) && 'window'});
        return {name, budget: mean_budget(all)};
      });
}

function rank_row(r, show_steps) {
  return {
    name: rank_label(r) + (r.role && r.role !== 'all' ? ` (${r.role})` : ''),
    budget: r.mean_budget_ns || mean_budget(r.steps.map((x) => x.budget_ns)),
    pick: () => {
      chosen.rank = r.rank;
      show_steps();
    }
  };
}

// A row for each bundle of ranks that behave alike. A click unfolds it into the rows of its ranks.
function rank_rows(ranks, bundles, unfolded, show_steps) {
  const of_rank = new Map(ranks.map((r) => [r.rank, r]));
  return bundles.flatMap((bundle) => {
    const rows = bundle.ranks.filter((rank) => of_rank.has(rank))
        .map((rank) => rank_row(of_rank.get(rank), show_steps));
    if (rows.length < 2) return rows.map((row) => ({...row, accused: bundle.accused}));
    const key = bundle.ranks[0];
    const open = unfolded.has(key);
    const toggle = () => {
      if (!unfolded.delete(key)) unfolded.add(key);
      chosen.set({});
    };
    const head = {
      name: `${open ? '▾' : '▸'} ${ranks_text(bundle.ranks, 3)}`,
      tip: ranks_text(bundle.ranks, 60),
      budget: mean_budget(rows.map((row) => row.budget)),
      open,
      pick: toggle,
      accused: bundle.accused
    };
    return [head, ...(open ? rows.map((row) => ({...row, inner: true})) : [])];
  });
}

function spread_table(job) {
  const rows =
      categories().filter((c) => job.spread && job.spread[c.key] && job.spread[c.key].worst_ns > 0)
          .map((c) => ({c, ...job.spread[c.key]}));
  if (!rows.length || job.ranks < 2) return null;
  return h(
      'details', {class: 'notes'}, h('summary', null, 'Spread over the ranks'), data_table({
        label: 'Spread of each category over the ranks',
        rows,
        sort: 1,
        columns: [
          {
            label: 'Category',
            text: true,
            value: (r) => r.c.label,
            show: (r) => h('span', {class: 'chip'}, swatch(r.c.key, r.c.pattern), r.c.label)
          },
          figure_column('Mean a step', 'mean_ns', ns),
          figure_column('Largest', 'worst_ns', ns),
          {label: 'on rank', value: (r) => r.worst_rank, show: (r) => String(r.worst_rank ?? none)},
          figure_column('Std. deviation', 'stdev_ns', ns)
        ]
      }));
}

export function budget_section(report) {
  const ranks = report.ranks.filter((r) => r.steps.length);
  if (!ranks.length) return missing('No step was found in these traces. ', record.steps);
  const state = {view: ranks.length > 1 ? 'ranks' : 'steps', all: false};
  const alike = bundles_of_report(report);
  const unfolded = new Set();  // bundles, by their first rank
  const show_steps = () => {
    state.view = 'steps';
    chosen.set({});
  };
  const mean = total_of(report.job.budget_ns || {}) > 0 ?
      report.job.budget_ns :
      mean_budget(ranks.map((r) => mean_budget(r.steps.map((x) => x.budget_ns))));
  return [
    live(() => {
      const rows = state.view === 'ranks' ?
          rank_rows(ranks, alike.bundles, unfolded, show_steps) : step_rows(ranks);
      const first = {name: 'mean step', budget: mean, strong: true};
      const full =
          Math.max(...[first, ...rows].map((r) => sum(visible().map((c) => r.budget[c.key])))) || 1;
      const shown = state.all ? rows : rows.slice(0, bars_at_once);
      const dense = shown.length > 20;
      return [
        budget_legend(mean),
        h('div', {class: 'tools'},
          ranks.length > 1 && choice(
              'Bars', [['ranks', 'By rank'], ['steps', 'By step']], state.view,
              (v) => {
                state.view = v;
                chosen.set({});
              }),
          state.view === 'steps' && ranks.length > 1 &&
              select(
                  'Rank', [['all', 'mean of all'], ...ranks.map((r) => [r.rank, String(r.rank)])],
                  chosen.rank, (v) => chosen.set({rank: v}))),
        h('div', {class: `bars${dense ? ' dense' : ''}`, 'data-view': state.view},
          bar_rows([first], full), h('span'), axis(full), h('span'), bar_rows(shown, full)),
        rows.length > shown.length &&
            h('p', {class: 'more'},
              h('button', {
                type: 'button',
                class: 'link',
                on: {
                  click: () => {
                    state.all = true;
                    chosen.set({});
                  }
                }
              },
                `Show all ${count(rows.length)}`)),
        state.view === 'ranks' && alike_note(alike) && note(alike_note(alike)),
      ];
    }),
    spread_table(report.job), outside_note(report)
  ];
}

function outside_note(report) {
  const outside = sum(report.ranks.flatMap((r) => Object.values(r.outside_ns || {})));
  const left_out = report.job.missing_steps || [];
  const steps = new Map();
  for (const {index, rank} of left_out) steps.set(index, [...(steps.get(index) || []), rank]);
  const mean = total_of(report.job.budget_ns || {});
  const job = report.job.step_mean_ns;
  const differs = known(job) && mean > 0 && Math.abs(job / mean - 1) > 0.005;
  return [
    one_window(report.ranks) && note('These traces mark no steps, so all of them is one window. ',
      record.steps),
    differs && note(`The job's step, ${ns(job)}, runs from the first rank's start to the last ` +
      `rank's end; the bars are each rank's own steps, ${ns(mean)} in the mean.`),
    outside > 0 && note(`Outside the steps, summed over ranks: ${ns(outside)}.`),
    left_out.length > 0 &&
        note(`Left out of the means: ${
            [...steps].slice(0, 30).map(
                ([index, ranks]) => `step ${index} on ${ranks_text(ranks, 6)}`).join(', ')}${
            steps.size > 30 ? ', …' : ''}.`)
  ];
}
