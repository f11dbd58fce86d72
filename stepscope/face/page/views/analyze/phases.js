// SPDX-License-Identifier: Apache-2.0
// The phases of a step: their means and their spread.

import {by_rank} from '../../draw/chosen.js';
import {h, missing, note} from '../../draw/elements.js';
import {phase_colours} from '../../draw/looks.js';
import {plain, plural} from '../../format/names.js';
import {ns} from '../../format/numbers.js';
import {record} from './record.js';

function phase_chart(rows) {
  const full = Math.max(...rows.map((p) => p.max_ns)) || 1;
  const at = (v) => `${(100 * v) / full}%`;
  return h(
      'div', {class: 'bars phases'},
      rows.map(
          (p) =>
              h('div', {class: 'bar-row'}, h('span', {class: 'label'}, plain(p.phase)),
                h('div', {
                  class: 'phase',
                  role: 'img',
                  'data-tip': `${plain(p.phase)}: mean ${ns(p.mean_ns)}\n${ns(p.min_ns)} to ${
                      ns(p.max_ns)}, σ ${ns(p.stdev_ns)}\n${plural(p.steps, 'step')}`,
                  'aria-label': `${plain(p.phase)}: mean ${ns(p.mean_ns)}`
                },
                  h('i', {
                    class: 'fill',
                    style: {
                      width: at(p.mean_ns),
                      '--c': `var(--${phase_colours[p.phase] || 'other'})`
                    }
                  }),
                  h('b', {style: {left: at(p.min_ns), width: at(p.max_ns - p.min_ns)}})),
                h('span', {class: 'value'}, `${ns(p.mean_ns)} ± ${ns(p.stdev_ns)}`))));
}

// The exposed communication of the phases.
function communication_note(rows) {
  const exposed = rows.filter((p) => p.communication_ns > 0);
  return exposed.length > 0 &&
      note('Exposed communication: ' +
           exposed.map((p) => `${plain(p.phase)} ${ns(p.communication_ns)}`).join(', ') + '.');
}

export function phases_section(report) {
  const of = (r) => (r.phases || []).filter((p) => p.max_ns > 0);
  const ranks = report.ranks.filter((r) => of(r).length);
  if (!ranks.length)
    return missing(
        'No phase could be distinguished: ',
        'forward, backward and optimizer are recognised from autograd, optimizer and ' +
            'record_function ranges. ',
        record.ranges);
  const note_other = ranks.every((r) => of(r).every((p) => p.phase === 'other')) &&
      note('Everything is "other": the traces hold no ranges that name phases. ', record.ranges);
  return [
    by_rank(
        ranks, 'all',
        (some, all) => {
          const rows = all ? report.job.phases.filter((p) => p.max_ns > 0) : of(some[0]);
          return h('div', null, phase_chart(rows), communication_note(rows));
        }),
    note('Per step: bar = mean, line = smallest to largest.'), note_other
  ];
}
