// SPDX-License-Identifier: Apache-2.0
// The last call that each rank recorded.

import {missing} from '../../draw/elements.js';
import {data_table, figure_column, present} from '../../draw/table.js';
import {count} from '../../format/numbers.js';

export function hang_calls({last_calls: rows}) {
  if (!rows.length) return missing('No rank recorded a call.');
  const columns = [
    {label: 'Rank', text: true, value: (r) => r.label},
    {label: 'Last call', text: true, value: (r) => `${r.name} ${r.sequence}`},
    {label: 'Group', text: true, class: 'wide', value: (r) => r.group_name},
    {label: 'Size', text: true, value: (r) => r.sizes, optional: true},
    {label: 'State', text: true, value: (r) => (r.state === 'unknown' ? null : r.state),
      optional: true},
    figure_column('Calls', 'calls', count, 'In all groups')
  ];
  return data_table({label: 'Last calls', rows, filter: rows.length > 25 ? 'Filter' : null,
    columns: present(columns, rows)});
}
