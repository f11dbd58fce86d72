// SPDX-License-Identifier: Apache-2.0
// The profiles that were read.

import {data_table, figure_column} from '../../draw/table.js';
import {plain} from '../../format/names.js';
import {bytes, count} from '../../format/numbers.js';

export function stacks_inputs(report) {
  const row = (i) => ({...i, said: Object.entries(i.notes)
    .map(([reason, n]) => `${plain(reason)}: ${count(n)}`).join('; ')});
  return data_table({
    label: 'Inputs', rows: report.inputs.map(row), columns: [
      {label: 'File', text: true, class: 'wide', value: (i) => i.path},
      {label: 'Format', text: true, value: (i) => plain(i.format)},
      figure_column('Size', 'text_bytes', bytes),
      figure_column('Stacks', 'stacks', count),
      {label: 'Skipped or repaired', text: true, class: 'wide', value: (i) => i.said}
    ]
  });
}
