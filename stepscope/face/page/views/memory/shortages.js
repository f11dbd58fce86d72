// SPDX-License-Identifier: Apache-2.0
// The points at which the allocator ran out of memory.

import {data_table} from '../../draw/table.js';
import {plain} from '../../format/names.js';
import {bytes, count, known, ns} from '../../format/numbers.js';
import {by_device} from './devices.js';

export function snapshot_shortages(report) {
  return by_device(report, (d) => data_table({
    label: 'Failed allocations', rows: d.out_of_memory, limit: 20,
    columns: [
      {label: 'At', value: (o) => o.event,
        show: (o) => (known(o.time_ns) ? ns(o.time_ns) : `event ${count(o.event)}`)},
      {label: 'Asked for', value: (o) => o.request_bytes, show: (o) => bytes(o.request_bytes)},
      {label: 'Why', text: true, value: (o) => plain(o.verdict)},
      {label: 'Largest usable', value: (o) => o.largest_usable_bytes,
        show: (o) => bytes(o.largest_usable_bytes)},
      {label: 'Free in the cache', value: (o) => o.memory.cached_bytes + o.memory.stranded_bytes,
        show: (o) => bytes(o.memory.cached_bytes + o.memory.stranded_bytes)},
      {label: 'Free on the device', value: (o) => o.device_free_bytes,
        show: (o) => bytes(o.device_free_bytes)},
      {label: 'Missing', value: (o) => o.missing_bytes, show: (o) => bytes(o.missing_bytes)},
      {label: 'Asked by', text: true, class: 'wide', value: (o) => o.stack[0]}
    ]
  }));
}
