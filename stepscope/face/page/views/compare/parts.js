// SPDX-License-Identifier: Apache-2.0
// What changed within the step: a waterfall of the budget's categories, and tables of parts.

import {h, missing, note, swatch} from '../../draw/elements.js';
import {look_of_term} from '../../draw/looks.js';
import {data_table, figure_column} from '../../draw/table.js';
import {fall_row} from '../../draw/waterfall.js';
import {between, known, ns, number, signed_ns, signed_percent, sum} from '../../format/numbers.js';
import {is_term, label_of} from '../../terms.js';

const most_rows = 10;  // of the waterfall; smaller changes are one row

// The steps of the waterfall from A to B, largest change first: [{name, ns, from}] with where each
// begins, the changes beyond `most` summed as name null.
export function falls(parts, most = most_rows) {
  const some = parts.filter((p) => known(p.difference_ns) && p.difference_ns !== 0)
      .sort((x, y) => Math.abs(y.difference_ns) - Math.abs(x.difference_ns));
  const shown = some.slice(0, most);
  const rest = some.slice(most);
  const rows = shown.map((p) => ({name: p.name, part: p, ns: p.difference_ns}));
  if (rest.length)
    rows.push({name: null, of: rest.length, ns: sum(rest.map((p) => p.difference_ns))});
  let at = 0;
  return rows.map((r) => {
    const from = at;
    at += r.ns;
    return {...r, from};
  });
}

function waterfall_of(parts) {
  const rows = falls(parts);
  const [a, b] = [sum(parts.map((p) => p.a_ns)), sum(parts.map((p) => p.b_ns))];
  const ends = [0, b - a, ...rows.flatMap((r) => [r.from, r.from + r.ns])];
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const full = high - low || 1;
  const drawn = (r, label, colour, pattern, explanation, kept) => fall_row({
    label, name: r.name || label, colour, pattern, explanation, ns: r.ns, share: r.ns / full,
    shown: signed_percent(r.ns / a)
  }, (r.from - low) / full, kept, {priced: false});
  return h('div', {class: 'fall', role: 'group', 'aria-label': 'From the step of A to that of B'},
    rows.map((r) => {
      if (r.name === null)
        return drawn(r, `${r.of} smaller changes`, 'other', null, 'Summed.', false);
      const look = look_of_term(r.name);
      return drawn(r, look.label, look.colour, look.pattern,
        `${ns(r.part.a_ns)} in A, ${ns(r.part.b_ns)} in B. ${look.explanation}`, false);
    }),
    drawn({name: 'all', ns: b - a, from: 0}, 'B against A, mean step', 'strong-rule', null,
      `${ns(a)} in A, ${ns(b)} in B.`, true));
}

const groups = {budget: 'budget', class: 'kernel_class'};
const part_label = (p) => (is_term(groups[p.kind], p.name) ?
  label_of(groups[p.kind], p.name) : p.name);

// The shapes of operators, calls a step and the time of a call, where calls are counted.
function work_columns(rows) {
  if (!rows.some((p) => known(p.a_calls) || known(p.b_calls))) return [];
  return [    rows.some((p) => p.shape) &&
        {label: 'Shape', text: true, value: (p) => (p.shape || '').replace(/, \[\]/g, '')},
    figure_column('Calls in A', 'a_calls', number),
    figure_column('In B', 'b_calls', number),
    figure_column('A call in A', 'a_call_ns', ns),
    figure_column('In B', 'b_call_ns', ns)
  ].filter(Boolean);
}

function parts_table(rows, label, limit) {
  const kernels = rows.some((p) => ['kernel', 'operator'].includes(p.kind));
  return data_table({
    label,
    rows,
    limit,
    filter: rows.length > 12 && 'Filter by name',
    columns: [
      kernels ? {label, name: true, value: (p) => p.name} :
        {label, text: true, value: part_label, show: (p) => h('span', {class: 'chip'},
          swatch(p.kind === 'budget' ? look_of_term(p.name).colour : p.name), part_label(p))},
      ...work_columns(rows),
      figure_column('A', 'a_ns', ns),
      figure_column('B', 'b_ns', ns),
      figure_column('B − A', 'difference_ns', signed_ns),
      {
        label: 'Interval',
        value: (p) => (p.interval_ns ? p.interval_ns[0] : null),
        show: (p) => (p.interval_ns ? between(p.interval_ns, signed_ns) : null)
      },
      {label: 'q', value: (p) => p.q, show: (p) => (known(p.q) ? p.q.toFixed(3) : null),
        tip: 'False-discovery rate among the parts of its kind'},
      {label: 'Beyond chance', text: true, value: (p) => (p.called ? 'yes' : 'no'),
        tip: 'q is below alpha'}
    ]
  });
}

const parts_of = (report, kind) => report.parts.filter((p) => p.kind === kind);

export function compare_changes(report) {
  const parts = parts_of(report, 'budget');
  if (!parts.length)
    return missing('No parts of the step are known: give traces for A and for B.');
  return [
    waterfall_of(parts),
    note('Percentages are of the mean step of A. The verdict above is of the medians of the ' +
      "job's steps, which also count how far the ranks are apart."),
    parts_table(parts, 'Category', 16)];
}

export function compare_parts(report) {
  const [classes, operators, kernels] = ['class', 'operator', 'kernel'].map(
      (kind) => parts_of(report, kind));
  return [
    classes.length > 0 && parts_table(classes, 'Class of compute', 12),
    operators.length > 0 && parts_table(operators, 'Operator', 20),
    kernels.length > 0 && parts_table(kernels, 'Kernel', 20)];
}
