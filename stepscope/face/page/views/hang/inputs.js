// SPDX-License-Identifier: Apache-2.0
// The files that were read.

import {data_table, figure_column, present} from '../../draw/table.js';
import {notes_text} from '../../format/names.js';
import {bytes, count} from '../../format/numbers.js';

export const hang_inputs = (report) => data_table({
  label: 'Inputs',
  rows: report.inputs,
  columns: present([
    {label: 'File', text: true, class: 'wide', value: (i) => i.path},
    {label: 'Format', text: true, value: (i) => i.format},
    {label: 'Rank', value: (i) => i.rank, optional: true},
    figure_column('Size', 'text_bytes', bytes),
    figure_column('Calls', 'calls', count),
    {label: 'Not understood', text: true, class: 'wide',
      value: (i) => notes_text(i.notes) + (i.truncated ? ' the end is damaged' : ''),
      optional: true}
  ], report.inputs)
});
