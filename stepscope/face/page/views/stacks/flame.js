// SPDX-License-Identifier: Apache-2.0
// The flame graph of a host profile, callers first or callees first.

import {choice, h, note, select, swatch} from '../../draw/elements.js';
import {Flame} from '../../draw/flame.js';
import {flame_model} from '../../draw/flame_layout.js';
import {colour_of_phase, unruled} from '../../draw/looks.js';
import {plain} from '../../format/names.js';
import {count, part} from '../../format/numbers.js';
import {phases_by_name, stack_weight} from './profile.js';

function flame_tip(report, m, i) {
  const weight = stack_weight(report);
  const lines = [m.words[i], `${weight(m.total[i])}, ${part(m.total[i], m.total[0])} of all`];
  if (m.self && m.self[i] > 0) lines.push(`itself ${weight(m.self[i])}`);
  if (m.before) {
    const change = 100 * (m.total[i] - m.before[i]) / (m.total[0] || 1);
    lines.push(`before ${part(m.before[i], m.total[0])}: ${change >= 0 ? '+' : '−'}${
      Math.abs(change).toFixed(1)} points`);
  }
  if (m.phases && m.depth[i] > 1) {
    const p = m.phases[m.phase[i]];
    if (p) lines.push(`${plain(m.passes[m.pass[i]])} · ${p.label}`, p.explanation);
  }
  return lines.join('\n');
}

// The tree from callees up has no phases of its own; a bar shows only its depth.
function flame_columns(report, order) {
  if (order === 'up') {
    const up = report.bottom_up;
    const model = flame_model({labels: up.label, label: up.label.map((_, i) => i),
      parent: up.parent, total: up.total}, null);
    const of_function = new Map(report.functions.map((f) => [f.function, f.phase]));
    const known_phases = phases_by_name(report);
    const first = new Int32Array(model.n);
    for (let i = 1; i < model.n; i++) first[i] = model.depth[i] === 1 ? i : first[model.parent[i]];
    model.hue = (i) => {
      const words = model.words[first[i]];
      const p = known_phases.get(of_function.get(words.replace(/ \([^()]*\)$/, '')));
      return p ? colour_of_phase(p) : 'other_native';
    };
    model.depth = model.depth.map((d) => (d === 0 ? 0 : d + 1));
    return model;
  }
  const known_phases = phases_by_name(report);
  const phases = report.flame.phases.map((name) => known_phases.get(name));
  const model = flame_model(report.flame, phases);
  // Phases in which no stack ends have no row.
  model.hue = (i) => {
    const p = phases[model.phase[i]];
    return p ? colour_of_phase(p) : unruled[report.flame.phases[model.phase[i]]] || 'other';
  };
  return model;
}

export function stacks_flame(report, tips) {
  const first = flame_columns(report, 'down');
  // If there is only one part, the rest is left out.
  const flame = new Flame(first, {
    label: 'Flame graph', tips, tip: (m, i) => flame_tip(report, m, i)
  });
  const shown = report.threads.findIndex((t) => t.weight > t.hidden);
  const search = h('input', {
    type: 'search', placeholder: 'Mark functions', 'aria-label': 'Mark functions',
    on: {input: () => flame.search(search.value)}
  });
  const threads = [];
  for (let i = 1; i < first.n; i = first.end[i]) threads.push([i, first.words[i]]);
  const pick = threads.length > 1 && select('Thread',
    [[0, 'all'], ...threads.slice(0, 60).map(([i, text]) => [i, text])], 0,
    (v) => flame.show(Number(v)));
  const orders = choice('Order', [['down', 'Callers first'], ['up', 'Callees first']], 'down',
    (v) => flame.take(flame_columns(report, v)));
  const legend = report.flame.before ?
    h('div', {class: 'legend'},
      h('span', {class: 'plain'}, swatch('comm_exposed_wait'), 'more now'),
      h('span', {class: 'plain'}, swatch('compute'), 'less now'),
      h('span', {class: 'plain'}, 'widths: the larger of both, shares of each profile')) : null;
  const hidden = report.hidden > 0 && shown >= 0 && threads.length > 1;
  if (hidden) {
    const named = threads.find(([, text]) => text.includes(report.threads[shown].name));
    if (named) setTimeout(() => flame.show(named[0]), 0);
  }
  return [
    legend, h('div', {class: 'tools'}, pick, orders, search), flame.box, flame.said,
    note('A bar is a function, as wide as its share; what it calls stands below it. A click makes ',
      'it fill the width, a second one or Esc goes back.',
      report.flame.left_out > 0 &&
        ` ${count(report.flame.left_out)} functions too narrow to be seen are left out.`)
  ];
}
