// SPDX-License-Identifier: Apache-2.0
// The stacks by part of training.

import {h, swatch} from '../../draw/elements.js';
import {colour_of_phase} from '../../draw/looks.js';
import {data_table} from '../../draw/table.js';
import {plain} from '../../format/names.js';
import {percent} from '../../format/numbers.js';
import {label_of} from '../../terms.js';
import {stack_weight} from './profile.js';

export function stacks_phases(report) {
  const weight = stack_weight(report);
  const rows = report.phases.filter((p) => p.kind !== 'hidden');
  const columns = [
    {label: 'Phase', text: true, value: (p) => p.label,
      show: (p) => h('span', {class: 'chip'}, swatch(colour_of_phase(p)), p.label)},
    {label: 'Kind', text: true, value: (p) => label_of('phase_kind', p.kind)},
    {label: report.unit === 'samples' ? 'Samples' : 'Weight', value: (p) => p.weight,
      show: (p) => weight(p.weight)},
    {label: 'Of busy', share: true, value: (p) => p.share_of_busy ?? 0,
      show: (p) => percent(p.share_of_busy), hue: colour_of_phase},
  ];
  if (report.against)
    columns.push({label: 'Before', value: (p) => p.share_of_busy_before ?? 0,
      show: (p) => percent(p.share_of_busy_before)},
    {label: 'Change', value: (p) => (p.share_of_busy ?? 0) - (p.share_of_busy_before ?? 0),
      show: (p) => {
        const points = 100 * ((p.share_of_busy ?? 0) - (p.share_of_busy_before ?? 0));
        return `${points >= 0 ? '+' : '−'}${Math.abs(points).toFixed(1)}`;
      }});
  columns.push({label: 'In', text: true, value: (p) => Object.keys(p.passes).map(plain).join(', ')},
    {label: 'What the thread does there', text: true, class: 'wide', value: (p) => p.explanation});
  return data_table({label: 'Phases', columns, rows, sort: 2, limit: 30});
}
