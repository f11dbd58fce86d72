// SPDX-License-Identifier: Apache-2.0
// The tables of a layer by the conventions of a text, one micro-batch on one device.

import {h} from '../../draw/elements.js';
import {data_table, figure_column} from '../../draw/table.js';
import {plain, plural} from '../../format/names.js';
import {bytes, ns, percent, some_flops} from '../../format/numbers.js';

const each_way = (label, key, show) => ['fwd', 'bwd'].map(
    (way) => figure_column(`${label} ${way}`, key.replace('*', way), show));

const columns = [
  {label: 'Layer', value: (r) => r.layer, text: true},
  ...each_way('FLOPs', 'flops_*', some_flops),
  ...each_way('Moved', 'mem_*_bytes', bytes),
  figure_column('Kept', 'kept_bytes', bytes, 'From forward to backward'),
  figure_column('Weights', 'weight_bytes', bytes),
  ...each_way('Sent', 'comm_*_bytes', bytes),
  ...each_way('Sent by', 'comm_*', (kind) => kind && plain(kind)),
  ...each_way('Tier', 'comm_tier_*', (tier) => tier && plain(tier)),
  ...each_way('Compute', 't_compute_*_ns', ns),
  ...each_way('Memory', 't_memory_*_ns', ns),
  ...each_way('Communication', 't_comm_*_ns', ns),
  ...each_way('Total', 't_total_*_ns', ns),
  ...each_way('Communication share', 'comm_share_*', percent)
];

export const predict_layers = (report) => report.layer_tables.map((t) => [
  h('h3', null, `${t.name}, one of ${plural(t.layers, 'layer')}, by "${t.conventions}"`),
  data_table({label: t.name, rows: t.rows, limit: 40, columns})
]);
