// SPDX-License-Identifier: Apache-2.0
// The page of a check: the answer, and its sections in order.

import {h, unbroken} from '../../draw/elements.js';
import {figures, remarks} from '../../draw/figures.js';
import {plain} from '../../format/names.js';
import {known, ns, number, percent} from '../../format/numbers.js';
import {check_list, check_lists, check_next} from './checks.js';
import {check_log} from './log.js';
import {check_ranks} from './ranks.js';
import {check_steps} from './steps.js';

const kinds = {trace: 'traces', train: 'JSON of stepscope train', log: 'log', list: 'step times'};

function check_hero(report) {
  const {steps, step_times: times} = report;
  const job = times.job;
  const value = (name) => (report.checks.find((c) => c.name === name) || {}).value;
  const rows = job ? [
    ['Median step', ns(job.median_ns), `95th percentile ${ns(job.p95_ns)}`],
    ['Spread', known(steps.stdev_ns) ? percent(steps.stdev_ns / steps.mean_ns) : '–',
      'standard deviation over mean'],
    ['Outliers', String(job.outliers), `of ${job.steps} steps`],
    ['Effective steps', number(steps.n_eff), 'of as many independent ones'],
    known(value('mfu')) && ['MFU', percent(value('mfu'))],
    times.ranks.length > 1 && ['Ranks', String(times.ranks.length)]
  ].filter(Boolean) : [];
  const kind = kinds[report.kind] || plain(report.kind);
  return h('header', {class: 'hero'}, h('p', {class: 'kicker'}, `${report.input} · ${kind}`),
    h('h1', null, unbroken(report.answer.sentence)), figures(rows),
    remarks(report.warnings, 'this input'));
}

export const check_page = (report) => ({
  report,
  hero: check_hero,
  sections: [
    {id: 'checks', title: 'Checks', draw: check_list},
    report.checklists && {
      id: 'lists',
      title: 'Checklists',
      lede: 'Each check with its evidence, or what to record for it.',
      draw: check_lists
    },
    {id: 'steps', title: 'Steps', draw: check_steps},
    {
      id: 'ranks',
      title: 'Ranks',
      lede: 'The time of each step on each rank, compared with the median of the ranks.',
      draw: check_ranks
    },
    report.log && {id: 'log', title: 'What the log says', draw: check_log},
    report.record_next.length > 0 &&
        {id: 'next', title: 'Record next', draw: check_next}
  ].filter(Boolean)
});
