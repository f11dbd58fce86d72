// SPDX-License-Identifier: Apache-2.0
// The page of a job's table of operations: how far it runs from its ideal step, and its sections.

import {h} from '../../draw/elements.js';
import {figures, remarks} from '../../draw/figures.js';
import {plural} from '../../format/names.js';
import {count, ns, number, percent, ratio} from '../../format/numbers.js';
import {job_operations_section} from './operations.js';
import {job_pipeline_section} from './pipeline.js';
import {job_steps_section} from './steps.js';
import {job_workers_section} from './workers.js';

function straggler_figures(job) {
  const rows = [
    ['S', ratio(job.s), `${percent(job.waste)} of the time wasted`],
    ['Step', ns(job.replayed_step_ns), `ideal ${ns(job.ideal_step_ns)}`],
    ['Worst workers', percent(job.m_w_share), `M_W ${number(job.m_w)}`]
  ];
  if (job.stages > 1)
    rows.push(['Last stage', percent(job.m_s_share), `M_S ${number(job.m_s)}`]);
  const balance = job.stage_balance;
  if (balance)
    rows.push([`Stage ${balance.slowest}`, `+${percent(balance.more)}`,
      `over the others; balanced ${ns(balance.balanced_step_ns)}`]);
  rows.push(['With launch delays', ratio(job.s_host), `measured ${ns(job.measured_step_ns)}`]);
  return figures(rows);
}

export function straggler_hero(report) {
  const job = report.straggler_job;
  const world = job.sizes.world ? ` · ${plural(job.sizes.world, 'GPU')}` : '';
  const kicker = `${job.trial_name || 'Job'}${world} · DP ${job.dp_ranks} × PP ${job.stages} · ` +
      `${plural(job.steps.length, 'step')}, ${count(job.operations)} operations`;
  return h('header', {class: 'hero'}, h('p', {class: 'kicker'}, kicker),
    h('h1', null, report.answer.sentence),
    report.answer.culprit && h('p', {class: 'culprit'}, report.answer.culprit),
    straggler_figures(job), remarks(report.warnings, 'this table'));
}

export const straggler_job_sections = [
  ['workers', 'Workers', 'What each explains of the loss, were it alone as fast as the ideal.',
    job_workers_section],
  ['operations', 'What is slow', 'The slowdown that each group makes with all others ideal.',
    job_operations_section],
  ['pipeline', 'Pipeline', 'What each stage idles, and why.', job_pipeline_section],
  ['steps', 'Steps', null, job_steps_section]
];
