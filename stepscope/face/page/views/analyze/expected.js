// SPDX-License-Identifier: Apache-2.0
// Expected and measured times: the step's classes by the model, operators by their shapes,
// collectives by their sizes.

import {h, missing, note, swatch} from '../../draw/elements.js';
import {step_class_colours} from '../../draw/looks.js';
import {data_table, figure_column} from '../../draw/table.js';
import {hyphened, plural} from '../../format/names.js';
import {bytes, count, largest, none, ns, signed_ns, times} from '../../format/numbers.js';
import {label_of} from '../../terms.js';

const pointwise_classes = ['norm', 'elementwise', 'embedding', 'loss'];

// Two bars on one scale: the expected time above the measured time.
function pair_row(row, full) {
  const hue = step_class_colours[row.class] || row.class;
  const bar = (value, kind) => h('span', {
    class: `fill ${kind}`,
    style: {left: '0', width: `${(100 * value) / full}%`, '--c': `var(--${hue})`}
  });
  return h('div', {
    class: 'fall-row',
    'data-class': row.class,
    'data-tip': `${row.label}: measured ${ns(row.measured_ns)}, expected ${ns(row.expected_ns)}` +
        (row.recompute_ns > 0 ? `, with ${ns(row.recompute_ns)} of recomputation` : '')
  },
  h('span', {class: 'what'}, row.label),
  h('span', {class: 'track', 'aria-hidden': 'true'}, bar(row.expected_ns, 'upper'),
    bar(row.measured_ns, 'lower')),
  h('span', {class: 'percent'}, times(row.ratio)),
  h('span', {class: 'amount'}, signed_ns(row.gap_ns)));
}

function expected_step(step) {
  const outer = step.classes.filter((c) => !pointwise_classes.includes(c.class));
  const together = {class: 'pointwise', ...step.pointwise};
  if (together.expected_ns > 0 || together.measured_ns > 0) outer.push(together);
  const rows = outer.map((c) => ({...c, label: label_of('step_class', c.class)}))
      .sort((a, b) => b.gap_ns - a.gap_ns);
  const full = largest(rows.flatMap((r) => [r.expected_ns, r.measured_ns])) || 1;
  const inner = step.classes.filter((c) => pointwise_classes.includes(c.class));
  return [
    h('h3', null, `The step of ${step.model} as ${step.plan_words}`),
    h('div', {class: 'fall', role: 'group', 'aria-label': 'Expected and measured, by class'},
      rows.map((row) => pair_row(row, full))),
    note(`Above, lighter: expected, ${ns(step.expected_ns)} in all. Below: measured, ` +
      `${ns(step.measured_ns)}. ` +
      'Each column sums to its step; communication hidden by compute counts with the compute.'),
    inner.length > 0 && note('Pointwise by class, which compilers fuse across: ',
      inner.map((c) => `${c.class} ${ns(c.measured_ns)} for ${ns(c.expected_ns)}`).join(' · '), '.')
  ];
}

// Without an expectation there is no comparison: all values are unknown.
const compared = (show) => (r) => (r.expected_ns > 0 ? show(r) : none);

const gap_of = (r) => r.measured_ns - r.expected_ns;

const compared_columns = [
  {label: 'Expected', value: (r) => r.expected_ns, show: compared((r) => ns(r.expected_ns))},
  {label: 'Measured', value: (r) => r.measured_ns, show: compared((r) => ns(r.measured_ns))},
  figure_column('Ratio', 'ratio', times),
  {label: 'Gap', value: gap_of, show: compared((r) => signed_ns(gap_of(r)))}
];

function expected_operators(rank) {
  const chip = (r) => h('span', {class: 'chip'}, swatch(r.class), r.class);
  return [
    h('h3', null, `Operators of rank ${rank.rank} by their shapes`),
    data_table({
      label: 'Operators by class',
      rows: rank.classes,
      columns: [
        {label: 'Class', text: true, value: (r) => r.class, show: chip}, ...compared_columns,
        figure_column(
            'Unknown', 'unknown_ns', ns,
            'Device time of operators whose shapes do not tell what they compute or move')
      ]
    }),
    data_table({
      label: 'Operators by gap',
      rows: rank.operators,
      limit: 10,
      filter: rank.operators.length > 10 && 'Filter by operator, shape, class',
      columns: [
        {label: 'Operator', name: true, first: true, value: (r) => r.name, hue: (r) => r.class},
        {label: 'Shape', text: true, value: (r) => (r.shape || '').replace(/, \[\]/g, '')},
        {label: 'Type', text: true, value: (r) => r.dtype},
        figure_column('Calls', 'calls', count), ...compared_columns
      ]
    })
  ];
}

function expected_collectives(rows) {
  return [
    h('h3', null, 'Collectives by their sizes'),
    data_table({
      label: 'Collectives against their links',
      rows,
      limit: 10,
      columns: [
        {label: 'Collective', text: true, value: (r) => hyphened(r.name)},
        {label: 'Dim.', text: true, value: (r) => r.dimension},
        figure_column('Ranks', 'group_size', count),
        figure_column('Size', 'bytes', bytes),
        figure_column('Calls', 'calls', count), ...compared_columns,
        {
          label: 'Measured is',
          text: true,
          value: (r) => (r.with_wait ? 'with waiting' : 'the transfer')
        }
      ]
    })
  ];
}

export function expected_section(report) {
  const e = report.expected;
  if (!e)
    return missing('No machine is known for this device, so nothing is expected of it: give ',
      h('code', null, '--machine NAME|FILE'), '.');
  return [
    e.sentences.map((text) => h('p', null, text)), e.step && expected_step(e.step),
    e.ranks.length > 0 && expected_operators(e.ranks[0]),
    e.collectives.length > 0 && expected_collectives(e.collectives),
    e.assumptions.length > 0 && h('details', {class: 'notes'},
      h('summary', null, `${plural(e.assumptions.length, 'figure')} that ${e.machine} does not ` +
        'say: those of other machines'),
      h('ul', null, e.assumptions.map((text) => h('li', null, text))))
  ];
}
