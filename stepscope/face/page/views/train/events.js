// SPDX-License-Identifier: Apache-2.0
// What happened in addition to the steps: checkpoints, skipped steps, states kept in files.

import {h, missing} from '../../draw/elements.js';
import {data_table, figure_column} from '../../draw/table.js';
import {runs} from '../../format/names.js';
import {known, number} from '../../format/numbers.js';

export function train_events(report) {
  const skipped = report.steps.filter((x) => x.skipped).map((x) => x.index);
  const checked = report.steps.filter((x) => known(x.validation_loss));
  const said = [
    skipped.length > 0 && `Skipped, because a gradient was not finite: step ${runs(skipped)}.`,
    ...report.checkpoints.map((path) => `Checkpoint ${path}.`), ...report.offload].filter(Boolean);
  if (!said.length && !checked.length)
    return missing('No checkpoint was written, no step was skipped and nothing was evaluated.');
  return [
    said.length > 0 && h('ul', {class: 'plain-list'}, said.map((text) => h('li', null, text))),
    checked.length > 0 && data_table({
      label: 'Evaluations',
      rows: checked,
      limit: 12,
      columns: [
        figure_column('Evaluated after step', 'index', String),
        figure_column('Validation loss', 'validation_loss', number),
        figure_column('Training loss', 'loss', number)
      ]
    })];
}
