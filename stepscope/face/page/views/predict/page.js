// SPDX-License-Identifier: Apache-2.0
// The page of a prediction: the answer, and its sections in order.

import {h, unbroken} from '../../draw/elements.js';
import {figures, interval_words, remarks} from '../../draw/figures.js';
import {bytes, compact, count, known, ns, number, percent} from '../../format/numbers.js';
import {predict_comparison} from './comparison.js';
import {predict_formulas} from './formulas.js';
import {predict_layers} from './layers.js';
import {predict_memory} from './memory.js';
import {predict_operations} from './operations.js';
import {predict_roofline} from './roofline.js';
import {predict_account} from './step.js';

function predict_figures(report) {
  const spare = report.memory.headroom_bytes;
  const rows = [
    ['Step', ns(report.step_time_ns), interval_words(report.step_interval_ns)],
    ['MFU', percent(report.mfu), `HFU ${percent(report.hfu)}`],
    [
      'Tokens a second', compact(report.tokens_per_second),
      `${compact(report.tokens_per_second_per_device)} a device`
    ],
    [
      'Memory', bytes(report.memory_bytes.total),
      known(spare) &&
          (spare >= 0 ? `${bytes(spare)} to spare` : `${bytes(-spare)} too much`)
    ]
  ];
  if (report.cost)
    rows.push(['Cost of a step', number(report.cost.per_step),
      `${number(report.cost.per_giga_token)} for 10⁹ tokens`]);
  return figures(rows);
}

function predict_hero(report) {
  const {model, machine} = report;
  const size = `${compact(model.parameters)} parameters`;
  const kicker = `${model.name} · ${size} · ${count(machine.devices)} × ${machine.name}`;
  return h('header', {class: 'hero'}, h('p', {class: 'kicker'}, kicker),
    h('h1', null, unbroken(report.answer.sentence)),
    h('p', {class: 'culprit plan'}, report.answer.plan),
    predict_figures(report), remarks(report.warnings, 'this prediction'));
}

export const predict_page = (report) => ({
  report,
  hero: predict_hero,
  sections: [
    {id: 'account', title: 'Where the step goes', draw: predict_account},
    {id: 'memory', title: 'Memory of a device', draw: predict_memory},
    report.comparison.length > 0 &&
        {id: 'comparison', title: 'Plans compared', draw: predict_comparison},
    {
      id: 'roofline',
      title: 'Roofline',
      lede: 'Every operation of one micro-batch, forward and backward: what it reaches, against ' +
          'what the arithmetic and the memory of a device allow. Areas are shares of the time.',
      draw: predict_roofline
    },
    {
      id: 'operations',
      title: 'Operations',
      lede: 'One micro-batch on one device.',
      draw: predict_operations
    },
    report.layer_tables.length > 0 && {
      id: 'layers',
      title: 'Tables of a layer',
      lede: 'As the text counts them, at the rated peaks.',
      draw: predict_layers
    },
    {
      id: 'formulas',
      title: 'Formulas',
      lede: 'Each figure with the values in it.',
      draw: predict_formulas
    }
  ].filter(Boolean)
});
