// SPDX-License-Identifier: Apache-2.0
// The plans that the command compared.

import {data_table} from '../../draw/table.js';
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
      {label: 'MFU', value: (r) => r.mfu, show: (r) => percent(r.mfu)},
      {
        label: 'Memory',
        value: (r) => r.memory_bytes && r.memory_bytes.total,
        show: (r) => (r.memory_bytes ? bytes(r.memory_bytes.total) : none)
      },
      {
        label: 'In layers',
        value: (r) => r.communication_bytes,
        show: (r) => bytes(r.communication_bytes),
        tip: 'Communicated by a device in a step, whole buffers'
      },
      {
        label: 'To data-parallel ranks',
        value: (r) => r.data_bytes,
        show: (r) => bytes(r.data_bytes),
        tip: 'Sent by the busiest device in a step'
      },
      {
        label: 'Fits',
        value: (r) => r.error ||
            (!known(capacity) ? '' : r.memory_bytes.total > capacity ? 'no' : 'yes'),
        text: true
      }
    ]
  });
}
