// SPDX-License-Identifier: Apache-2.0
// The points at which the allocator ran out of memory.

import {data_table, figure_column} from '../../draw/table.js';
import {plain} from '../../format/names.js';
import {bytes, count, known, ns} from '../../format/numbers.js';
import {by_device} from './devices.js';

export function snapshot_shortages(report) {
  return by_device(report, (d) => data_table({
    label: 'Failed allocations', rows: d.out_of_memory, limit: 20,
    columns: [
      {label: 'At', value: (o) => o.event,
        show: (o) => (known(o.time_ns) ? ns(o.time_ns) : `event ${count(o.event)}`)},
      figure_column('Asked for', 'request_bytes', bytes),
      {label: 'Why', text: true, value: (o) => plain(o.verdict)},
      figure_column('Largest usable', 'largest_usable_bytes', bytes),
      {label: 'Free in the cache', value: (o) => o.memory.cached_bytes + o.memory.stranded_bytes,
        show: (o) => bytes(o.memory.cached_bytes + o.memory.stranded_bytes)},
      figure_column('Free on the device', 'device_free_bytes', bytes),
      figure_column('Missing', 'missing_bytes', bytes),
      {label: 'Asked by', text: true, class: 'wide', value: (o) => o.stack[0]}
    ]
  }));
}
