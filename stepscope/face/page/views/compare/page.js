// SPDX-License-Identifier: Apache-2.0
// The page of a comparison: the verdict, and its sections in order.

import {h, unbroken} from '../../draw/elements.js';
import {figures, remarks} from '../../draw/figures.js';
import {plural} from '../../format/names.js';
import {known, ns, number, percent, signed_ns, signed_percent} from '../../format/numbers.js';
import {compare_arms, compare_distributions} from './arms.js';
import {compare_changes, compare_parts} from './parts.js';

const gates = {true: 'a regression', false: 'within the limit', null: 'cannot tell'};

function compare_hero(report) {
  const {a, b, interval} = report;
  const rows = [
    ['B against A', signed_percent(report.ratio - 1), interval &&
      `${signed_percent(interval[0] - 1)} to ${signed_percent(interval[1] - 1)}`],
    ['Difference', signed_ns(report.difference_ns), 'of the medians'],
    ['Median of A', ns(a.median_ns), `${plural(a.steps, 'step')}, ${number(a.n_eff)} effective`],
    ['Median of B', ns(b.median_ns), `${plural(b.steps, 'step')}, ${number(b.n_eff)} effective`],
    known(report.p) && ['p', report.p < 0.0001 ? '< 0.0001' : report.p.toFixed(4),
      `called below ${number(report.alpha)}`],
    known(report.max_regression) && ['Limit', percent(report.max_regression),
      gates[report.regression]]
  ].filter(Boolean);
  return h('header', {class: 'hero'},
    h('p', {class: 'kicker'}, `A ${a.label} · B ${b.label}`),
    h('h1', null, unbroken(report.answer.sentence)), figures(rows),
    remarks(report.warnings, 'this comparison'));
}

const has_parts = (report, ...kinds) => report.parts.some((p) => kinds.includes(p.kind));

export const compare_page = (report) => ({
  report,
  hero: compare_hero,
  sections: [
    {id: 'distributions', title: 'Step times', draw: compare_distributions},
    {
      id: 'changes',
      title: 'Where the difference lies',
      lede: 'From the mean step of A to that of B, category by category, mean over ranks.',
      draw: compare_changes
    },
    has_parts(report, 'class', 'operator', 'kernel') &&
        {
          id: 'parts',
          title: 'Compute and kernels',
          lede: 'Mean time a step, mean over ranks; the largest change first.',
          draw: compare_parts
        },
    {id: 'arms', title: 'Launches', draw: compare_arms}
  ].filter(Boolean)
});
