// SPDX-License-Identifier: Apache-2.0
// The host: its lead over the device, and its time outside launches.

import {by_rank} from '../../draw/chosen.js';
import {h, missing, note} from '../../draw/elements.js';
import {data_table, facts, figure_column} from '../../draw/table.js';
import {runs} from '../../format/names.js';
import {count, known, none, ns, number, part, yes_no} from '../../format/numbers.js';
import {bundles_or_ranks, rank_cell} from './job/bundle_choice.js';

function calls_table(label, rows) {
  return rows.length > 0 && [
    h('h3', null, label), data_table({
      label,
      rows,
      sort: 2,
      limit: 8,
      columns: [
        {label: 'Call', name: true, value: (r) => r.name},
        figure_column('Count', 'count', count),
        figure_column('Time', 'total_ns', ns)
      ]
    })
  ];
}

function host_facts(host) {
  const launched = host.launches > 0;
  return facts([
    launched && ['Launches', count(host.launches), `${ns(host.launch_ns)} in launch calls`],
    launched && ['Into an empty queue', count(host.empty_queue_launches),
                 `${part(host.empty_queue_launches, host.launches)} of launches`],
    host.starved_ns > 0 && ['Device starved', ns(host.starved_ns), 'idle that launches ended'],
    known(host.slack_p50_ns) && ['Queue slack, median', ns(host.slack_p50_ns),
      `10 %: ${ns(host.slack_p10_ns)}, 90 %: ${ns(host.slack_p90_ns)}`],
    known(host.queue_mean) && ['Queue length, mean', number(host.queue_mean),
                               `at most ${count(host.queue_max)}`],
    ['In sync calls', ns(host.sync_ns)], ['In the allocator', ns(host.allocator_ns)],
    ['Loading data', ns(host.data_ns)], ['Garbage collection', ns(host.gc_ns)],
    ['Profiler overhead', ns(host.overhead_ns)],
    host.negative_latencies > 0 && ['Operations before their launch',
      count(host.negative_latencies), 'clock error of the trace'],
  ].filter((r) => r && r[1] !== none));
}

const host_columns = [
  {label: 'Rank', value: (r) => r.rank, show: rank_cell},
  {label: 'Launch-bound', text: true, value: (r) => yes_no(r.host.launch_bound)},
  {label: 'Launches', value: (r) => r.host.launches, show: (r) => count(r.host.launches)},
  {
    label: 'Empty queue',
    value: (r) => r.host.empty_queue_launches,
    show: (r) => count(r.host.empty_queue_launches)
  },
  {
    label: 'Slack, median',
    value: (r) => r.host.slack_p50_ns,
    show: (r) => ns(r.host.slack_p50_ns),
    tip: 'From launch call to kernel start'
  },
  {label: 'Queue', value: (r) => r.host.queue_mean, show: (r) => number(r.host.queue_mean)},
  {label: 'Sync', value: (r) => r.host.sync_ns, show: (r) => ns(r.host.sync_ns)},
  {label: 'Allocator', value: (r) => r.host.allocator_ns, show: (r) => ns(r.host.allocator_ns)},
  {label: 'Data', value: (r) => r.host.data_ns, show: (r) => ns(r.host.data_ns)},
  {label: 'GC', value: (r) => r.host.gc_ns, show: (r) => ns(r.host.gc_ns)},
  {label: 'Profiler', value: (r) => r.host.overhead_ns, show: (r) => ns(r.host.overhead_ns)},
];

function launch_verdict(ranks) {
  if (!ranks.some((r) => r.host.launches > 0)) return 'The host launched nothing on a device.';
  const bound = ranks.filter((r) => r.host.launch_bound === true).map((r) => r.rank);
  if (!bound.length) return 'No rank is launch-bound: the host runs ahead of the device.';
  const where = `${bound.length === 1 ? 'rank' : 'ranks'} ${runs(bound)}`;
  return `Launch-bound: the device waits for the host on ${where}.`;
}

function host_of(rank, several) {
  const {sync_calls, allocator_calls} = rank.host;
  const lists = [['Synchronisation', sync_calls], ['Allocator', allocator_calls]];
  const filled = lists.filter(([, rows]) => (rows || []).length);
  return [several && h('h3', null, `Rank ${rank.rank}`), host_facts(rank.host),
          h('div', {class: 'columns'},
            filled.map(([label, rows]) => h('div', null, calls_table(label, rows)))),
          note('Times and counts are sums over the steps of the rank.')];
}

export function host_section(report) {
  const ranks = report.ranks.filter((r) => r.host);
  if (!ranks.length) {
    return missing('No host rows in these traces. Record with ProfilerActivity.CPU.');
  }
  const several = ranks.length > 1;
  return [
    h('p', {class: 'lede'}, launch_verdict(ranks)),
    several && bundles_or_ranks(report, ranks, (rows) => data_table(
      {label: 'Host of every rank', rows, limit: 12, columns: host_columns})),
    by_rank(ranks, null, ([rank]) => host_of(rank, several)),
  ];
}
