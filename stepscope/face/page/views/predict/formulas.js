// SPDX-License-Identifier: Apache-2.0
// Each figure with the values in it.

import {h} from '../../draw/elements.js';
import {label_of} from '../../terms.js';

export function predict_formulas(report) {
  const terms = report.step_terms.filter((t) => t.formula && t.ns !== 0);
  const parts = Object.entries(report.memory.formulas)
      .filter(([name, text]) => text && report.memory_bytes[name] > 0);
  return h('dl', {class: 'formulas'}, terms.map((t) => [h('dt', null, t.label),
    h('dd', null, h('code', null, t.formula))]),
  parts.map(([name, text]) => [h('dt', null, `memory: ${label_of('predicted_memory', name)}`),
    h('dd', null, h('code', null, text))]));
}
