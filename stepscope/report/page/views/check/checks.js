// SPDX-License-Identifier: Apache-2.0
// What each figure means, and what another recording should have.

import {h} from '../../draw/elements.js';
import {data_table} from '../../draw/table.js';
import {plain} from '../../format/names.js';

const marks = {good: '✓ ok', look: '! look', unknown: '– unknown'};

export const check_list = (report) => data_table({
  label: 'Checks',
  rows: report.checks,
  columns: [
    {
      label: 'Result',
      text: true,
      value: (c) => c.status,
      show: (c) => h('span', {class: `mark ${c.status}`}, marks[c.status] || c.status)
    },
    {label: 'Figure', text: true, value: (c) => plain(c.name)},
    {label: 'What it says', text: true, class: 'wide', value: (c) => c.sentence}
  ]
});

export const check_next = (report) =>
  h('ul', {class: 'plain-list'}, report.record_next.map((what) => h('li', null, what)));
