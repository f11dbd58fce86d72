// SPDX-License-Identifier: Apache-2.0
// The page of a run of training: the answer, and its sections in order.

import {total_of} from '../../draw/budget_bars.js';
import {h, unbroken} from '../../draw/elements.js';
import {figures, remarks} from '../../draw/figures.js';
import {categories} from '../../draw/looks.js';
import {facts} from '../../draw/table.js';
import {plural} from '../../format/names.js';
import {
  bytes, compact, count, known, ns, number, part, percent, sum
} from '../../format/numbers.js';
import {label_of} from '../../terms.js';
import {budget_section} from '../analyze/budget.js';
import {steps_section} from '../analyze/job/steps.js';
import {as_analysis} from './as_analysis.js';
import {train_events} from './events.js';
import {train_isolation} from './isolation.js';
import {train_loss} from './loss.js';
import {train_collectives, train_memory, whole_memory} from './memory.js';
import {train_statistics} from './statistics.js';

function memory_figure(report) {
  const all = whole_memory(report);
  return all && ['Memory', bytes(all.measured_bytes), `of a rank; planned ${
    bytes(all.planned_bytes)}`];
}

function train_figures(report) {
  const {steps, means} = report;
  const budget = means.budget_ns;
  const total = total_of(budget);
  const exposed = categories().filter((c) => c.key.startsWith('comm_exposed')).map((c) => c.key);
  const checked = steps.filter((x) => known(x.validation_loss));
  const [first, last] = [steps[0], steps[steps.length - 1]];
  return figures([
    ['Step', ns(report.step_time_ns), 'mean without the first'],
    ['Tokens a second', compact(report.tokens_per_second)],
    known(report.mfu) && ['MFU', percent(report.mfu), known(report.hfu) &&
      `HFU ${percent(report.hfu)}`],
    total > 0 && report.setup.ranks > 1 && ['Exposed communication',
      percent(sum(exposed.map((k) => budget[k])) / total), `${
        percent((budget.comm_exposed_wait || 0) / total)} waiting`],
    memory_figure(report),
    ['Loss', number(last.loss), `from ${number(first.loss)}${checked.length ?
      `; validation ${number(checked[checked.length - 1].validation_loss)}` : ''}`]
  ].filter(Boolean));
}

function train_hero(report) {
  const s = report.setup;
  const {verdict, verdict_steps: of_steps} = report.answer;
  const kicker = `${s.model} · ${compact(s.parameters)} parameters · ` +
      `${plural(s.ranks, 'rank')} × ZeRO-${s.zero} (${s.precision}, ${s.transport}) · ` +
      `${count(s.batch * s.accumulation)} sequences of ${count(s.sequence)} tokens a rank`;
  return h('header', {class: 'hero'}, h('p', {class: 'kicker'}, kicker),
    h('h1', null, unbroken(report.answer.sentence)),
    verdict && verdict.sentence && h('p', {class: 'culprit'}, of_steps ?
      `Steps ${of_steps[0]} to ${of_steps[1]}: ${verdict.sentence}` : verdict.sentence),
    report.steps.length > 0 && train_figures(report), remarks(report.warnings, 'this run'));
}

function phases_part({means}) {
  const phases = Object.entries(means.phases_ns).filter(([, t]) => t > 0);
  const whole = sum(phases.map(([, t]) => t));
  return phases.length > 0 && [h('h3', null, 'By phase'),
    facts(phases.map(([name, t]) => [label_of('phase', name), ns(t), part(t, whole)]))];
}

// The page holds some of many steps (docs/reference/json/train.md).
function drawn_words({drawn}) {
  return drawn && drawn.every > 1 ? `Of ${count(drawn.of_steps)} steps the longest of each ${
    count(drawn.every)} in turn is drawn.` : null;
}

export function train_page(report) {
  const analysis = as_analysis(report);
  const some = report.steps.length > 0;
  const drawn = drawn_words(report);
  return {
    report,
    hero: train_hero,
    sections: [
      some && {id: 'loss', title: 'Loss', lede: drawn, draw: train_loss},
      report.steps.length > 1 && report.rank_steps.length > 0 &&
          {id: 'steps', title: 'Steps', lede: drawn, draw: () => steps_section(analysis)},
      report.rank_steps.length > 0 && {
        id: 'budget',
        title: 'Time budget',
        lede: 'Every nanosecond of a step is in one category; the categories sum to the step. ' +
          'Means are over the steps after the first.',
        draw: () => [budget_section(analysis), phases_part(report)]
      },
      {
        id: 'memory',
        title: 'Memory',
        lede: 'Of the rank that holds most of each class: planned before step 1, and the highest ' +
          'while training.',
        draw: train_memory
      },
      report.collectives.length > 0 &&
          {id: 'collectives', title: 'Collectives', lede: 'Of one rank, over all steps.',
            draw: train_collectives},
      report.stats && {id: 'statistics', title: 'ZeRO-3 statistics', draw: train_statistics},
      report.isolation && {id: 'isolation', title: 'Overlap, isolated', draw: train_isolation},
      {id: 'events', title: 'Events', draw: train_events}
    ].filter(Boolean)
  };
}
