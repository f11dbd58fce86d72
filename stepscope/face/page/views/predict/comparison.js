// SPDX-License-Identifier: Apache-2.0
// The plans that the command compared.

import {data_table, figure_column} from '../../draw/table.js';
import {bytes, known, none, ns, percent} from '../../format/numbers.js';

export function predict_comparison(report) {
  const rows = report.comparison;
  const capacity = report.memory.capacity_bytes;
  return data_table({
    label: 'Plans compared',
    rows,
    limit: 64,
    columns: [
      {label: 'Plan', value: (r) => r.label, text: true},
      {label: 'dp', value: (r) => r.plan.dp},
      {label: 'Step', value: (r) => r.step_time_ns, show: (r) => ns(r.step_time_ns), share: true},
      figure_column('MFU', 'mfu', percent),
      {
        label: 'Memory',
        value: (r) => r.memory_bytes && r.memory_bytes.total,
        show: (r) => (r.memory_bytes ? bytes(r.memory_bytes.total) : none)
      },
      figure_column(
          'In layers', 'communication_bytes', bytes,
          'Communicated by a device in a step, whole buffers'),
      figure_column(
          'To data-parallel ranks', 'data_bytes', bytes, 'Sent by the busiest device in a step'),
      {
        label: 'Fits',
        value: (r) => r.error ||
            (!known(capacity) ? '' : r.memory_bytes.total > capacity ? 'no' : 'yes'),
        text: true
      }
    ]
  });
}
