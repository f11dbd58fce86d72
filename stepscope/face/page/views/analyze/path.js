// SPDX-License-Identifier: Apache-2.0
// The critical path over all ranks, the ranks that others wait for, and the gains of changes.

import {h, missing, note, swatch} from '../../draw/elements.js';
import {path_colour} from '../../draw/looks.js';
import {data_table, figure_column} from '../../draw/table.js';
import {timeline_link} from '../../draw/timeline_link.js';
import {known, none, ns, percent, times} from '../../format/numbers.js';

// One bar: the parts of the path, largest first.
function path_bar(parts, length) {
  return h('div', {class: 'path-bar', role: 'img', 'aria-label':
    parts.map((p) => `${p.what} ${percent(p.ns / length)}`).join(', ')},
  parts.map((p) => h('span', {
    style: {width: `${(100 * p.ns) / length}%`, background: `var(--${path_colour(p.what)})`},
    'data-tip': `${p.what}: ${ns(p.ns)}, ${percent(p.ns / length)} of the path`
  })));
}

function summed(rows, key) {
  const sums = new Map();
  for (const r of rows) sums.set(key(r), (sums.get(key(r)) || 0) + r.ns);
  return [...sums].map(([what, time]) => ({what, ns: time})).sort((a, b) => b.ns - a.ns);
}

export function path_section(report) {
  const e = report.explanation;
  if (!e || !e.critical_path.length_ns) return missing('No step to replay was recorded.');
  const path = e.critical_path;
  const parts = summed(path.shares, (r) => r.what);
  const ranks = path.ranks.filter((r) => r.on_path_ns > 0);
  return [
    path_bar(parts, path.length_ns),
    h('p', {class: 'path-legend'}, parts.slice(0, 8).map((p) => h('span', {class: 'chip'},
      swatch(path_colour(p.what)), `${p.what} ${percent(p.ns / path.length_ns)}`))),
    note('The chain of work that ends with the last step: each piece waited for the one before ',
      `it, over all ranks. It runs on ${ranks.map((r) => `rank ${r.rank} (${
        percent(r.on_path_ns / path.length_ns)})`).slice(0, 8).join(', ')}. `,
      `${percent(Math.abs(e.residual_share))} of a step is delay that the traces do not explain.`),
    h('h3', null, 'Its longest pieces'),
    data_table({
      label: 'Longest pieces of the critical path',
      rows: path.longest,
      limit: 10,
      columns: [
        figure_column('Rank', 'rank', String),
        {label: 'What', text: true, value: (r) => r.what},
        {label: 'Operation', name: true, value: (r) => r.name || '',
          hue: (r) => path_colour(r.what)},
        figure_column('Takes', 'ns', ns),
        {label: 'Where', value: (r) => r.start_ns,
          show: (r) => timeline_link(r.rank, r.start_ns, r.ns)}
      ]
    }),
    e.blame.length > 0 && [
      h('h3', null, 'Who is waited for in collectives'),
      data_table({
        label: 'Blame for waiting',
        rows: e.blame,
        limit: 8,
        columns: [
          figure_column('Rank', 'rank', String),
          {label: 'For its', text: true, value: (r) => r.what},
          {label: 'Most before', name: true, value: (r) => r.name || '',
            hue: (r) => path_colour(r.what)},
          {label: 'Why', text: true, value: (r) =>
            (r.excess ? 'takes longer than at its peers' : 'has more to do by the schedule')},
          figure_column('Waiting', 'wait_ns', ns, 'Summed over the ranks that waited'),
          {label: 'Worst', value: (r) => r.worst_ns,
            show: (r) => timeline_link(r.rank, r.worst_at_ns - r.worst_ns, r.worst_ns)}
        ]
      })],
    e.scenarios.length > 0 && [
      h('h3', null, 'What a change would buy'),
      data_table({
        label: 'What-ifs',
        rows: e.scenarios,
        sort: 2,
        limit: 12,
        columns: [
          {label: 'If', text: true, class: 'wide', first: true, value: (r) => r.words},
          figure_column('Step', 'step_ns', ns),
          figure_column('Saves', 'saved_ns', ns),
          figure_column('Speed-up', 'speedup', times),
          {label: 'Remove', value: (r) => r.remove,
            show: (r) => (known(r.remove) ? percent(r.remove) : none),
            tip: 'Of what all causes together cost: removing this one alone gives back'},
          {label: 'Add', value: (r) => r.add,
            show: (r) => (known(r.add) ? percent(r.add) : none),
            tip: 'Of what all causes together cost: this one alone, the others removed'},
          {label: 'whatif --change', text: true, value: (r) => r.name}
        ]
      }),
      note('The recorded steps replayed with the change made; what it does not touch keeps what ' +
        'was measured. Causes interact, so shares do not sum to 100 %.')]
  ];
}
