// SPDX-License-Identifier: Apache-2.0
// What is lost between blocks.

import {data_table} from '../../draw/table.js';
import {bytes, part} from '../../format/numbers.js';
import {fragment_rows} from '../../terms.js';
import {by_device} from './devices.js';

export function snapshot_fragments(report) {
  return by_device(report, (d) => data_table({
    label: 'Fragmentation', rows: fragment_rows.map(([key, label]) => ({key, label})), limit: 20,
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
