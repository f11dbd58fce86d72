// SPDX-License-Identifier: Apache-2.0
// Every operation of one micro-batch.

import {h, swatch} from '../../draw/elements.js';
import {operation_class_colours} from '../../draw/looks.js';
import {data_table} from '../../draw/table.js';
import {bytes, compact, ns, number, some_flops} from '../../format/numbers.js';

export function predict_operations(report) {
  const both = (a, b) => (r) => r[a] + r[b];
  const quantity = (label, value, show, tip) => ({label, value, show: (r) => show(value(r)), tip});
  return data_table({
    label: 'Operations',
    rows: report.layers,
    limit: 40,
    filter: 'operation, class',
    columns: [
      {label: 'Operation', value: (r) => `${r.part}: ${r.name}`, text: true},
      {
        label: 'Class',
        value: (r) => r.class,
        text: true,
        show: (r) => h('span', {class: 'chip'}, swatch(operation_class_colours[r.class]), r.class)
      },
      {label: '×', value: (r) => r.count, tip: 'Layers that have it'},
      quantity('Matrix FLOPs', both('flops_fwd', 'flops_bwd'), some_flops, 'Forward and backward'),
      quantity('Vector FLOPs', both('vector_flops_fwd', 'vector_flops_bwd'), some_flops),
      quantity('Memory', both('mem_fwd_bytes', 'mem_bwd_bytes'), bytes, 'Read and written'),
      quantity('Kept', (r) => r.kept_bytes, bytes, 'From forward to backward'),
      quantity('Weights', (r) => r.parameters, compact),
      quantity('Sent', both('comm_fwd_bytes', 'comm_bwd_bytes'), bytes),
      quantity('Communication', both('t_comm_fwd_ns', 't_comm_bwd_ns'), ns, 'Alone'),
      quantity('FLOP/B', (r) => r.intensity, number),
      {
        label: 'Time of all',
        value: (r) => r.count * (r.t_fwd_ns + r.t_bwd_ns),
        show: (r) => ns(r.count * (r.t_fwd_ns + r.t_bwd_ns)),
        share: true,
        hue: (r) => operation_class_colours[r.class],
        tip: 'Forward and backward of one micro-batch, in all layers'
      }
    ]
  });
}
