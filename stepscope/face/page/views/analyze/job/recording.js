// SPDX-License-Identifier: Apache-2.0
// What the recording has and what it lacks.

import {h, note} from '../../../draw/elements.js';
import {data_table, figure_column} from '../../../draw/table.js';
import {term} from '../../../terms.js';
import {count, none, ns} from '../../../format/numbers.js';

// "12 of 40", or a dash where there is nothing to count.
export const part_of = (some, all) => (all ? `${count(some)} of ${count(all)}` : none);

const number = (label, value) =>
    ({label, value, show: (r) => (value(r) ? count(value(r)) : none)});

const calls = (r) => (r.rows.runtime || 0) + (r.rows.driver || 0);

// A sentence for each fact that is missing.
export const lacking = (lacks) => lacks.map(
    (l) => `Not recorded: ${l.what}${l.record ? ` (${l.record})` : ''}.${
        l.findings.length ?
            ` Not looked for: ${l.findings.map((id) => term('finding', id).label).join(', ')}.` :
            ''}`);

export function recording_table(report) {
  const {ranks, lacks} = report.recording;
  return h(
      'details', {class: 'notes'},
      h('summary', null, 'What the recording has and what it lacks'), data_table({
        label: 'Recording',
        rows: ranks,
        limit: 12,
        columns: [
          figure_column('Rank', 'rank', String),
          number('Operators', (r) => r.rows.cpu_op),
          number('With shapes', (r) => r.shaped_operators),
          number('Calls', calls), number('Launches', (r) => r.launches),
          number('Launches without rows', (r) => r.lost_launches),
          number('Steps left out', (r) => r.lost_steps.length),
          number('Device rows', (r) => r.device_rows),
          number('Without a launch', (r) => r.loose_rows),
          number('Graph launches', (r) => r.graph_launches),
          number('Their nodes', (r) => r.graph_rows), number('Stream waits', (r) => r.rows.sync),
          number('Memory events', (r) => r.memory_events), {
            label: 'Collectives in named groups',
            value: (r) => r.in_named_groups,
            show: (r) => part_of(r.in_named_groups, r.collectives)
          },
          {
            label: 'Messages with peers',
            value: (r) => r.addressed_messages,
            show: (r) => part_of(r.addressed_messages, r.messages)
          },
          {
            label: 'Start-up',
            value: (r) => r.start_up.total_ns,
            show: (r) => (r.start_up.total_ns ? ns(r.start_up.total_ns) : none)
          }
        ]
      }),
      lacking(lacks).map((sentence) => note(sentence)));
}
