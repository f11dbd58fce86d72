// SPDX-License-Identifier: Apache-2.0
// One step's computation alone, its communication alone, and both together.

import {note} from '../../draw/elements.js';
import {data_table} from '../../draw/table.js';
import {between, known, ns, part, signed_ns} from '../../format/numbers.js';

// [{name, ns, range, signed}] in the order in which they explain each other.
export function isolation_rows(isolation) {
  const measured = [['compute', 'Compute alone'], ['communication', 'Communication alone'],
    ['both', 'Both together'], ['exposed', 'Exposed communication']];
  return [
    ...measured.map(([key, name]) => ({name, ns: isolation[key].mean_ns,
      range: [isolation[key].min_ns, isolation[key].max_ns], signed: false})),
    {name: 'Hidden by overlap', ns: isolation.hidden_ns, range: null, signed: true},
    {name: 'Cost of contention', ns: isolation.contention_ns, range: null, signed: true}];
}

export function train_isolation({isolation}) {
  const whole = isolation.both.mean_ns;
  const slowest = isolation.ranks.reduce((a, r) => (r.compute_ns > (a ? a.compute_ns : -1) ? r : a),
    null);
  return [
    data_table({
      label: 'Isolation',
      rows: isolation_rows(isolation),
      columns: [
        {label: 'Time', text: true, value: (r) => r.name},
        {label: 'Mean', value: (r) => r.ns, show: (r) => (r.signed ? signed_ns : ns)(r.ns)},
        {label: 'Range', value: (r) => (r.range ? r.range[0] : null),
          show: (r) => (r.range ? between(r.range, ns) : null)},
        {label: 'Of a step', value: (r) => r.ns,
          show: (r) => `${r.ns < 0 ? '−' : ''}${part(Math.abs(r.ns), whole)}`}
      ]
    }),
    note(`Means over ranks and ${isolation.steps} steps each way. Both together = compute + `,
      'communication − hidden + contention.',
      slowest && known(slowest.compute_ns) &&
        ` Rank ${slowest.rank} computes longest alone: ${ns(slowest.compute_ns)}.`)];
}
