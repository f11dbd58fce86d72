// SPDX-License-Identifier: Apache-2.0
// Memory lost between blocks.

import {data_table} from '../../draw/table.js';
import {capitalised} from '../../format/names.js';
import {bytes, part} from '../../format/numbers.js';
import {keys_of, label_of} from '../../terms.js';
import {by_device} from './devices.js';

export function snapshot_fragments(report) {
  return by_device(report, (d) => data_table({
    label: 'Fragmentation',
    rows: keys_of('allocator').map(
      (key) => ({key, label: capitalised(label_of('allocator', key))})),
    limit: 20,
    columns: [
      {label: 'What', text: true, value: (r) => r.label},
      {label: 'At the peak', value: (r) => d.peak.memory[r.key],
        show: (r) => bytes(d.peak.memory[r.key])},
      {label: 'Of reserved', share: true,
        value: (r) => d.peak.memory[r.key] / (d.peak.memory.reserved_bytes || 1),
        show: (r) => part(d.peak.memory[r.key], d.peak.memory.reserved_bytes)},
      {label: 'At the end', value: (r) => d.end.memory[r.key],
        show: (r) => bytes(d.end.memory[r.key])}
    ]
  }));
}
