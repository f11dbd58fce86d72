// SPDX-License-Identifier: Apache-2.0
// What telemetry counted: passes, layers, messages, transfers, efficiency.

import {h, note} from '../../draw/elements.js';
import {data_table, facts, figure_column, present} from '../../draw/table.js';
import {hyphened, plain} from '../../format/names.js';
import {bytes, count, known, ns, number, percent, compact} from '../../format/numbers.js';

const time = (label, key, tip) => ({label, value: (r) => r[key], optional: true,
  show: (r) => ns(r[key]), tip});

function table(title, label, rows, columns, limit = 12) {
  return rows.length > 0 && [h('h3', null, title),
    data_table({label: title, rows, limit, columns: present(
      [{label, text: true, value: (r) => plain(r.name)}, ...columns], rows)})];
}

const named = (object) => Object.entries(object).map(([name, row]) => ({name, ...row}));

function efficiency_facts({efficiency, communication, memory_transfers: transfers, throughput}) {
  const share = (label, v, remark) => (known(v) ? [label, percent(v), remark] : null);
  return facts([
    share('Links reached', communication.efficiency, 'of their measured rate, without waiting'),
    share('Communication hidden', communication.overlap_efficiency, 'under other work'),
    share('Transfers reached', transfers.efficiency, 'of the measured rates of drive and device'),
    share('Prefetch hits', efficiency.prefetch_hit_rate),
    share('Goodput', efficiency.goodput),
    share('Imbalance', efficiency.imbalance, 'of the ranks'),
    known(throughput.peak_tokens_per_second) ?
      ['Fastest tokens a second', compact(throughput.peak_tokens_per_second)] : null,
    known(throughput.step_p99_ns) ? ['Step, 99th percentile', ns(throughput.step_p99_ns),
      `median ${ns(throughput.step_p50_ns)}`] : null
  ].filter(Boolean));
}

const messages = ({communication}) => communication.collectives.map((c) => ({...c,
  name: `${hyphened(c.kind)}, ${plain(c.purpose)}`}));

const links = ({memory_transfers: transfers}) =>
  transfers.links.map((l) => ({...l, name: l.direction}));

export function train_statistics(report) {
  const {stats} = report;
  const passes = named(stats.passes).filter((p) => p.count > 0);
  return [
    efficiency_facts(stats),
    table('Passes', 'Pass', passes, [
      figure_column('Count', 'count', count),
      time('Mean', 'mean_ns'), time('Shortest', 'min_ns'), time('Median', 'p50_ns'),
      time('90 %', 'p90_ns'), time('99 %', 'p99_ns'), time('Longest', 'max_ns')]),
    table('Layers', 'Layer', stats.layers, [
      time('Forward', 'forward_mean_ns', 'Mean of a pass'), time('Longest', 'forward_max_ns'),
      time('Recomputed', 'recompute_mean_ns', 'Mean of a pass'),
      time('Backward', 'backward_mean_ns', 'Mean of a pass'), time('Longest', 'backward_max_ns'),
      figure_column('Slowest rank', 'slowest_rank', String)]),
    table('Messages', 'Collective, purpose', messages(stats), [
      {label: 'Ranks', value: (c) => c.group_size},
      figure_column('Count', 'count', count),
      figure_column('Bytes', 'bytes', bytes),
      time('Median', 'p50_ns'), time('99 %', 'p99_ns'),
      {label: 'Bus GB/s', value: (c) => c.busbw_gb_per_s, optional: true,
        show: (c) => number(c.busbw_gb_per_s)},
      {label: 'of link', value: (c) => c.efficiency, optional: true,
        show: (c) => percent(c.efficiency)}], 15),
    table('Transfers', 'Direction', links(stats), [
      figure_column('Count', 'count', count),
      figure_column('Bytes', 'bytes', bytes),
      {label: 'GB/s', value: (l) => l.gb_per_s, optional: true, show: (l) => number(l.gb_per_s)},
      {label: 'of measured rate', value: (l) => l.efficiency, optional: true,
        show: (l) => percent(l.efficiency)}]),
    note('Times of all ranks and micro-batches together, with their waits.')];
}
