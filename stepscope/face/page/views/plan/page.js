// SPDX-License-Identifier: Apache-2.0
// The page of a search for plans: the fastest, and its sections in order.

import {h, unbroken} from '../../draw/elements.js';
import {figures, interval_words, remarks} from '../../draw/figures.js';
import {bytes, compact, count, ns, percent} from '../../format/numbers.js';
import {plan_front} from './front.js';
import {plan_launch} from './launch.js';
import {plan_devices, plan_ranking} from './ranking.js';
import {plan_rejected} from './searched.js';
import {plan_sensitivity} from './sensitivity.js';
import {plan_terms} from './terms.js';
import {plan_why} from './why.js';
import {step_fall} from '../predict/step.js';

function plan_figures(report) {
  const best = report.best[0];
  if (!best) return null;
  const spare = report.memory.capacity_bytes - best.memory_bytes.total;
  const rows = [
    ['Step', ns(best.step_time_ns), interval_words(best.step_interval_ns)],
    ['MFU', percent(best.mfu)],
    [
      'Tokens a second', compact(best.tokens_per_second),
      `${compact(best.tokens_per_second / best.plan.devices)} a device`
    ],
    ['Memory', bytes(best.memory_bytes.total), `${bytes(spare)} to spare`],
    ['Plans', compact(report.candidates), `searched in ${ns(report.elapsed_ns)}`]
  ];
  return figures(rows);
}

function plan_hero(report) {
  const devices = report.devices.length > 1 ?
      `${count(report.devices[0])} to ${count(report.devices.at(-1))}` : count(report.devices[0]);
  const batch = `global batch ${count(report.global_batch)} × ${count(report.sequence)} tokens`;
  return h('header', {class: 'hero'},
    h('p', {class: 'kicker'}, `${report.model} · ${devices} × ${report.machine} · ${batch}`),
    h('h1', null, unbroken(report.answer.sentence)),
    report.answer.plan && h('p', {class: 'culprit plan'}, report.answer.plan),
    (report.answer.remarks || []).map((r) => h('p', {class: 'remark'}, unbroken(r))),
    plan_figures(report), remarks(report.warnings, 'this search'));
}

function plan_account(report) {
  const best = report.best[0];
  return step_fall(plan_terms(best), best.step_time_ns);
}

function plan_sections(report) {
  const any = report.best.length > 0;
  return [
    any && {id: 'account', title: 'Where the step goes', draw: plan_account},
    (report.against.length > 0 || report.best.length > 1) && {
      id: 'why',
      title: report.against.length > 0 ? 'Your plan and the fastest' : 'Why it wins',
      lede: any && 'From the other plan\'s step to the fastest one\'s, term by term.',
      draw: plan_why
    },
    any && {
      id: 'ranking',
      title: 'Ranking',
      lede: 'The fastest plan of each shape.',
      draw: plan_ranking
    },
    any && {
      id: 'front',
      title: 'Time and memory',
      lede: 'Plans that no other beats in both. Each point says its plan.',
      draw: plan_front
    },
    report.by_devices.length > 1 &&
        {id: 'devices', title: 'By the number of devices', draw: plan_devices},
    {id: 'rejected', title: 'What was searched', draw: plan_rejected},
    report.sensitivity.length > 0 && {
      id: 'sensitivity',
      title: 'Another machine',
      lede: 'How the step of the fastest plan changes where one thing of the machine is so many ' +
          'times what it is; for memory, the fastest plan that then fits.',
      draw: plan_sensitivity
    },
    report.flags.length > 0 && {
      id: 'launch',
      title: 'Launch it',
      lede: 'The fastest plan as each framework takes it; model, data and learning rate are yours.',
      draw: plan_launch
    }
  ].filter(Boolean);
}

export const plan_page = (report) => ({
  report,
  hero: plan_hero,
  sections: plan_sections(report)
});
