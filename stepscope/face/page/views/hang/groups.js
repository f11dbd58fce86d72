// SPDX-License-Identifier: Apache-2.0
// The groups of ranks, and how far their calls have come.

import {missing} from '../../draw/elements.js';
import {data_table, figure_column, present} from '../../draw/table.js';
import {count} from '../../format/numbers.js';

export function hang_groups(report) {
  const rows = report.groups.filter((g) => g.calls + g.pairs > 0 || g.furthest !== null);
  if (!rows.length)
    return missing('No call of any group is recorded. Record with NCCL_DEBUG_SUBSYS=INIT,COLL, ' +
      'or give the dumps of the flight recorder.');
  const columns = [
    {label: 'Group', text: true, class: 'wide', value: (g) => g.name},
    {label: 'Size', value: (g) => g.size},
    {label: 'Recorded', value: (g) => g.recorded, tip: 'Members with any record'},
    figure_column('Calls', 'calls', count),
    figure_column('Sends and receives', 'pairs', count),
    {label: 'All have', value: (g) => g.all_reached, optional: true,
      tip: 'The last number that all recorded members have'},
    {label: 'Furthest', value: (g) => g.furthest, optional: true,
      tip: 'The last number that any member has'},
    {label: 'Finding', value: (g) => (g.finding === null ? null : g.finding + 1), optional: true}
  ];
  return data_table({label: 'Groups', rows, columns: present(columns, rows)});
}
