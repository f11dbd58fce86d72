// SPDX-License-Identifier: Apache-2.0
// Idle gaps by cause, and the largest of them.

import {by_rank} from '../../draw/chosen.js';
import {h, missing, swatch} from '../../draw/elements.js';
import {look_of_term} from '../../draw/looks.js';
import {data_table, figure_column} from '../../draw/table.js';
import {timeline_link} from '../../draw/timeline_link.js';
import {count, ns, part, sum} from '../../format/numbers.js';

export function gaps_section(report) {
  const ranks = report.ranks.filter((r) => (r.gaps || []).length);
  if (!ranks.length) return missing('No idle gap was found, or these traces hold no device work.');
  return by_rank(ranks, 'all', (some) => {
    const causes = new Map();
    for (const r of some) {
      for (const g of r.gaps) {
        const c = causes.get(g.cause) || {cause: g.cause, total_ns: 0, count: 0};
        c.total_ns += g.total_ns;
        c.count += g.count;
        causes.set(g.cause, c);
      }
    }
    const rows = [...causes.values()].sort((a, b) => b.total_ns - a.total_ns);
    const largest = some.flatMap(
        (r) => r.gaps.flatMap(
            (g) => (g.largest || []).map((x) => ({rank: r.rank, cause: g.cause, ...x}))));
    const whole = sum(rows.map((r) => r.total_ns));
    const label = (r) =>
        h('span', {class: 'chip'}, swatch(r.cause, look_of_term(r.cause).pattern),
          look_of_term(r.cause).label.replace('idle: ', ''));
    return [
      data_table({
        label: 'Idle time by cause',
        rows,
        columns: [
          {label: 'Cause', text: true, value: (r) => look_of_term(r.cause).label, show: label},
          figure_column('Time', 'total_ns', ns), {
            label: 'Share of idle',
            share: true,
            hue: (r) => r.cause,
            value: (r) => r.total_ns / whole,
            show: (r) => part(r.total_ns, whole)
          },
          figure_column('Gaps', 'count', count)
        ]
      }),
      h('h3', null, 'Largest gaps'), data_table({
        label: 'Largest gaps',
        rows: largest,
        sort: 2,
        limit: 10,
        filter: largest.length > 10 && 'Filter by cause or host activity',
        columns: [
          {label: 'Cause', text: true, value: (r) => look_of_term(r.cause).label, show: label},
          figure_column('Rank', 'rank', String),
          figure_column('Length', 'wall_ns', ns),
          {label: 'Host meanwhile', name: true, value: (r) => r.host_activity},
          {label: 'Culprit', name: true, value: (r) => r.culprit}, {
            label: 'Begins at',
            value: (r) => r.start_ns,
            show: (r) => timeline_link(r.rank, r.start_ns, r.wall_ns)
          }
        ]
      })
    ];
  });
}
