// SPDX-License-Identifier: Apache-2.0
// Loss, norm of the gradients and learning rate by step.

import {fitted} from '../../draw/chart.js';
import {h} from '../../draw/elements.js';
import {line_chart} from '../../draw/line_chart.js';
import {plural} from '../../format/names.js';
import {known, number} from '../../format/numbers.js';

const rate = (v) => (known(v) ? Number(v.toPrecision(3)).toString() : '–');
const axis_number = (v) => Number(v.toPrecision(4)).toString();

function loss_chart(steps, width) {
  const checked = steps.some((x) => known(x.validation_loss));
  const [first, last] = [steps[0], steps[steps.length - 1]];
  return line_chart({
    numbers: steps.map((x) => x.index),
    title: 'loss',
    height: 240,
    show: axis_number,
    lines: [
      {name: 'training', colour: 'compute', values: steps.map((x) => x.loss)},
      checked && {name: 'validation', colour: 'comm_exposed_transfer', dots: true,
        values: steps.map((x) => x.validation_loss)}
    ].filter(Boolean),
    spoken: `Loss of ${plural(steps.length, 'step')}, from ${number(first.loss)} to ${
      number(last.loss)}`,
    tip: (i) => [`step ${steps[i].index}: loss ${number(steps[i].loss)}`,
      known(steps[i].validation_loss) && `validation ${number(steps[i].validation_loss)}`,
      `learning rate ${rate(steps[i].learning_rate)}`,
      steps[i].skipped && 'skipped: a gradient was not finite'].filter(Boolean).join('\n')
  }, width);
}

function side_chart(steps, key, title, width) {
  return line_chart({
    numbers: steps.map((x) => x.index),
    title,
    height: 150,
    show: axis_number,
    lines: [{name: title, colour: 'attention', values: steps.map((x) => x[key])}],
    spoken: `${title} by step, at the end ${rate(steps[steps.length - 1][key])}`,
    tip: (i) => `step ${steps[i].index}: ${title} ${rate(steps[i][key])}`,
    zero: true
  }, width);
}

const varies = (steps, key) =>
  new Set(steps.map((x) => x[key]).filter(known)).size > 1;

export const train_loss = ({steps}) => [
  fitted((width) => loss_chart(steps, width)),
  (varies(steps, 'gradient_norm') || varies(steps, 'learning_rate')) && fitted((width) => {
    const charts = [['gradient_norm', 'norm of the gradients'], ['learning_rate', 'learning rate']]
        .filter(([key]) => varies(steps, key));
    const each = charts.length < 2 || width < 884 ? width : Math.floor((width - 44) / 2);
    return h('div', {class: charts.length > 1 ? 'columns' : null},
      charts.map(([key, title]) => side_chart(steps, key, title, each)));
  })];
