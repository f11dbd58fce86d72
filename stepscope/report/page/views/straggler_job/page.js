// SPDX-License-Identifier: Apache-2.0
// The page of a job's table of operations: its distance from the ideal step, and its sections.

import {h} from '../../draw/elements.js';
import {figures, remarks} from '../../draw/figures.js';
import {plural} from '../../format/names.js';
import {count, ns, number, percent, ratio} from '../../format/numbers.js';
import {completed, inputs} from '../analyze/page.js';
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

function straggler_hero(report) {
  const job = report.straggler_job;
  const world = job.sizes.world ? ` · ${plural(job.sizes.world, 'GPU')}` : '';
  const kicker = `${job.trial_name || 'Job'}${world} · DP ${job.dp_ranks} × PP ${job.stages} · ` +
      `${plural(job.steps.length, 'step')}, ${count(job.operations)} operations`;
  return h('header', {class: 'hero'}, h('p', {class: 'kicker'}, kicker),
    h('h1', null, report.answer.sentence),
    report.answer.culprit && h('p', {class: 'culprit'}, report.answer.culprit),
    straggler_figures(job), remarks(report.warnings, 'this table'));
}

const sections = [
  {
    id: 'workers',
    title: 'Workers',
    lede: 'What each explains of the loss, were it alone as fast as the ideal.',
    draw: job_workers_section
  },
  {
    id: 'operations',
    title: 'What is slow',
    lede: 'The slowdown that each group makes with all others ideal.',
    draw: job_operations_section
  },
  {
    id: 'pipeline',
    title: 'Pipeline',
    lede: 'What each stage idles, and why.',
    draw: job_pipeline_section
  },
  {id: 'steps', title: 'Steps', draw: job_steps_section}
];

export function straggler_job_page(data) {
  const report = completed(data);
  const shown = sections.filter((x) => x.id !== 'pipeline' || report.straggler_job.pipeline);
  return {report, hero: straggler_hero, sections: [...shown, inputs]};
}
