// SPDX-License-Identifier: Apache-2.0
// Totals of the allocator that the program printed at points of a step.

import {data_table, figure_column} from '../../draw/table.js';
import {bytes} from '../../format/numbers.js';

export const memory_checkpoints = (report) => data_table({
  label: 'Printed totals', rows: report.checkpoints, columns: [
    {label: 'Line', text: true, class: 'wide', value: (c) => c.label},
    figure_column('Allocated', 'allocated_bytes', bytes),
    figure_column('Change', 'change_bytes', bytes),
    figure_column('Reserved', 'reserved_bytes', bytes),
    figure_column('Peak', 'peak_bytes', bytes),
    {label: 'File', text: true, class: 'wide', value: (c) => c.path}
  ]
});
