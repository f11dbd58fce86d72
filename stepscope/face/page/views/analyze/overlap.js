// SPDX-License-Identifier: Apache-2.0
// The communication that is hidden behind compute, the rest that could be hidden, and the kernels
// that slow down meanwhile.

import {by_rank} from '../../draw/chosen.js';
import {h, missing, note} from '../../draw/elements.js';
import {data_table, facts, figure_column, present} from '../../draw/table.js';
import {count, known, ns, number, percent, sum} from '../../format/numbers.js';

// Joins the rows of a kernel and shape over ranks: times are weighted by count.
export function contention_of(list) {
  const out = new Map();
  for (const c of list.flatMap((o) => o.contention || [])) {
    const key = `${c.name}\n${c.shape}`;
    const m = out.get(key) || {name: c.name, shape: c.shape, alone: 0, overlapped: 0, count: 0};
    m.alone += c.alone_ns * c.count;
    m.overlapped += c.overlapped_ns * c.count;
    m.count += c.count;
    out.set(key, m);
  }
  return [...out.values()].map((m) => ({
    name: m.name, shape: m.shape, count: m.count, lost_ns: m.overlapped - m.alone,
    alone_ns: m.alone / (m.count || 1), overlapped_ns: m.overlapped / (m.count || 1),
    slowdown: m.overlapped / (m.alone || 1),
  }));
}

const overlap_times = ['compute_ns', 'comm_ns', 'overlap_ns', 'step_ns', 'no_overlap_ns',
                       'perfect_overlap_ns', 'schedule_bound_ns'];

export function overlap_mean(list) {
  const mean = (key) => {
    const values = list.map((o) => o[key]).filter(known);
    return values.length ? sum(values) / values.length : null;
  };
  const out = {contention: contention_of(list)};
  for (const key of ['ratio', 'efficiency', ...overlap_times]) out[key] = mean(key);
  return out;
}

function overlap_bars(o) {
  const rows = [
    ['without overlap', o.no_overlap_ns, 'idle_sync'], ['as measured', o.step_ns, 'compute'],
    ['best under this schedule', o.schedule_bound_ns, 'comm_overlapped'],
    ['with perfect overlap', o.perfect_overlap_ns, 'comm_overlapped']
  ].filter((r) => known(r[1]));
  const full = Math.max(...rows.map((r) => r[1])) || 1;
  return h(
      'div', {class: 'bars'},
      rows.map(
          ([label, value, hue]) =>
              h('div', {class: 'bar-row'},
                h('span', {class: `label${hue === 'compute' ? ' strong' : ''}`}, label),
                h('div', {class: 'phase', role: 'img', 'aria-label': `${label}: ${ns(value)}`},
                  h('i', {
                    class: 'fill',
                    style: {width: `${(100 * value) / full}%`, '--c': `var(--${hue})`}
                  })),
                h('span', {class: 'value'}, ns(value),
                  known(o.step_ns) && hue !== 'compute' ?
                      ` (${value >= o.step_ns ? '+' : '−'}${
                          percent(Math.abs(value / o.step_ns - 1))})` :
                      ''))));
}

const contention_columns = [
  {label: 'Kernel', name: true, value: (r) => r.name},
  {label: 'Shape', name: true, optional: true, value: (r) => r.shape},
  figure_column('Alone', 'alone_ns', ns),
  figure_column('With comm.', 'overlapped_ns', ns),
  {label: 'Slowdown', value: (r) => r.slowdown, show: (r) => `${number(r.slowdown)}\u202f×`},
  figure_column('Count', 'count', count),
  figure_column('Lost', 'lost_ns', ns, 'Over all steps'),
];

function contention_part(rows) {
  if (!rows.length) {
    return note('No kernel of one shape was seen both alone and during communication. ',
                'Shapes are recorded with record_shapes=True.');
  }
  const columns = present(contention_columns, rows);
  return [h('h3', null, 'Kernels that slow down during communication'),
          data_table({label: 'Contention', rows, sort: columns.length - 1, limit: 10, columns})];
}

// The mean per step, from sums over the steps of a rank.
export function overlap_of_step(rank) {
  const out = {...rank.overlap};
  const steps = rank.steps.length || 1;
  for (const key of overlap_times) if (known(out[key])) out[key] /= steps;
  return out;
}

export function overlap_section(report) {
  const ranks = report.ranks.filter((r) => r.overlap);
  if (!ranks.length) {
    return missing('No overlap to speak of: these traces show no communication on the device, ' +
                   'or no device.');
  }
  return by_rank(ranks, 'mean of all', (some) => {
    const o = overlap_mean(some.map(overlap_of_step));
    const hidden = known(o.ratio) ? `${percent(o.ratio)} of the communication runs behind compute` :
                                    'The overlap ratio is not known';
    const possible = known(o.efficiency) ?
        `; that is ${percent(o.efficiency)} of what could be hidden.` : '.';
    return [
      h('p', {class: 'lede'}, hidden, possible),
      overlap_bars(o),
      facts([['Compute', ns(o.compute_ns), 'a step'], ['Communication', ns(o.comm_ns), 'a step'],
             ['Both', ns(o.overlap_ns), 'a step']]),
      contention_part(o.contention),
    ];
  });
}
