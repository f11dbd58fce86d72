// SPDX-License-Identifier: Apache-2.0
// The profiles that were read.

import {data_table} from '../../draw/table.js';
import {plain} from '../../format/names.js';
import {bytes, count} from '../../format/numbers.js';

export function stacks_inputs(report) {
  const row = (i) => ({...i, said: Object.entries(i.notes)
    .map(([reason, n]) => `${plain(reason)}: ${count(n)}`).join('; ')});
  return data_table({
    label: 'Inputs', rows: report.inputs.map(row), columns: [
      {label: 'File', text: true, class: 'wide', value: (i) => i.path},
      {label: 'Format', text: true, value: (i) => plain(i.format)},
      {label: 'Size', value: (i) => i.text_bytes, show: (i) => bytes(i.text_bytes)},
      {label: 'Stacks', value: (i) => i.stacks, show: (i) => count(i.stacks)},
      {label: 'Skipped or repaired', text: true, class: 'wide', value: (i) => i.said}
    ]
  });
}
