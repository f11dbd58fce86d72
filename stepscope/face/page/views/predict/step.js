// SPDX-License-Identifier: Apache-2.0
// Where the predicted step goes, from 100 % down.

import {h, note} from '../../draw/elements.js';
import {predicted_step_colours} from '../../draw/looks.js';
import {fall_row} from '../../draw/waterfall.js';
import {percent} from '../../format/numbers.js';

// From the whole step down to the work of the matrix units.
export function step_fall(terms, step_ns) {
  const account = {priced: false};
  const row = (t) => ({
    label: t.label,
    name: t.name,
    explanation: t.formula || '',
    colour: predicted_step_colours[t.name] || 'other',
    ns: t.ns,
    share: t.share
  });
  const some = terms.filter((t) => Math.abs(t.ns) >= 1).map(row);  // a nanosecond
  const kept = some.filter((t) => t.name === 'matmul');
  const rest = some.filter((t) => t.name !== 'matmul').sort((a, b) => b.ns - a.ns);
  const rows = [...rest, ...kept];
  const top = {
    label: 'the step',
    name: 'all',
    explanation: 'All of it.',
    colour: 'strong-rule',
    ns: step_ns,
    share: 1
  };
  let at = 1;
  return h('div', {class: 'fall', role: 'group', 'aria-label': 'The step from 100 % down'},
    fall_row(top, 0, false, account),
    rows.map((t) => fall_row(t, (at -= t.share), t.name === 'matmul', account)));
}

export function predict_account(report) {
  return [
    step_fall(report.step_terms, report.step_time_ns),
    note(['MFU by convention: ',
      report.conventions.map((c) => `${c.name} ${percent(c.mfu)}`).join(' · '), '.'].join(''))
  ];
}
