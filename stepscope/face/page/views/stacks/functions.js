// SPDX-License-Identifier: Apache-2.0
// Functions by their own time.

import {colour_of_phase} from '../../draw/looks.js';
import {data_table, figure_column} from '../../draw/table.js';
import {part} from '../../format/numbers.js';
import {phases_by_name, stack_weight} from './profile.js';

export function stacks_functions(report) {
  const weight = stack_weight(report);
  const known_phases = phases_by_name(report);
  const phase = (f) => known_phases.get(f.phase);
  const all = report.weight - report.hidden || 1;
  const phase_words = (f) => (phase(f) ? phase(f).label + (
    f.phase_weight < f.self ? ` ${part(f.phase_weight, f.self)}` : '') : '');
  const place = (f) => (f.file ? `${f.file.split('/').pop()}${f.line ? `:${f.line}` : ''}` : '');
  return data_table({
    label: 'Functions', rows: report.functions, filter: 'Filter functions', sort: 1, limit: 25,
    columns: [
      {label: 'Function', name: true, first: true, value: (f) => f.function,
        hue: (f) => (phase(f) ? colour_of_phase(phase(f)) : 'other')},
      figure_column('Itself', 'self', weight),
      {label: 'Share', share: true, value: (f) => f.self / all, show: (f) => part(f.self, all)},
      figure_column('With callees', 'total', weight),
      {label: 'Where', text: true, value: place},
      {label: 'Phase', text: true, value: phase_words}
    ]
  });
}
