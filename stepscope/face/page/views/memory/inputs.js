// SPDX-License-Identifier: Apache-2.0
// The snapshots that were read.

import {data_table, figure_column} from '../../draw/table.js';
import {notes_text} from '../../format/names.js';
import {bytes, count} from '../../format/numbers.js';

export const snapshot_inputs = (report) => data_table({
  label: 'Inputs', rows: report.inputs, columns: [
    {label: 'File', text: true, class: 'wide', value: (i) => i.path},
    {label: 'Form', text: true, value: (i) => i.format},
    figure_column('Size', 'text_bytes', bytes),
    figure_column('Stacks', 'stacks', count),
    {label: 'Allocator', text: true, value: (i) => (i.settings ? i.settings.text : null)},
    {label: 'Not understood', text: true, class: 'wide', value: (i) => notes_text(i.notes)}
  ]
});
