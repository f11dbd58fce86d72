// SPDX-License-Identifier: Apache-2.0
// The allocators of the memory held at the peak.

import {note} from '../../draw/elements.js';
import {memory_use_colour} from '../../draw/looks.js';
import {data_table, figure_column} from '../../draw/table.js';
import {plural} from '../../format/names.js';
import {bytes, count, part} from '../../format/numbers.js';
import {label_of} from '../../terms.js';
import {by_device} from './devices.js';

export function snapshot_holders(report) {
  return by_device(report, (d) => {
    const live = d.peak.memory.live_bytes;
    return [data_table({
      label: 'Holders', rows: d.peak.holders, filter: 'Filter places', sort: 1, limit: 25,
      columns: [
        {label: 'Where', name: true, first: true, value: (r) => r.place,
          hue: (r) => memory_use_colour(r.use)},
        figure_column('Bytes', 'bytes', bytes),
        {label: 'Share', share: true, value: (r) => r.bytes / (live || 1),
          show: (r) => part(r.bytes, live), hue: (r) => memory_use_colour(r.use)},
        figure_column('Blocks', 'blocks', count),
        {label: 'Use', text: true, value: (r) => label_of('memory_use', r.use)},
        {label: 'Operator', text: true, value: (r) => r.operator}
      ]
    }), d.peak.holders_left_out > 0 &&
      note(`and ${plural(d.peak.holders_left_out, 'smaller place')}`)];
  });
}
