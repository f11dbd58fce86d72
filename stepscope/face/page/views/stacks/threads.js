// SPDX-License-Identifier: Apache-2.0
// The activity of each thread.

import {h, note, swatch} from '../../draw/elements.js';
import {colour_of_phase, light_kinds, unruled} from '../../draw/looks.js';
import {plural} from '../../format/names.js';
import {largest, part} from '../../format/numbers.js';
import {label_of} from '../../terms.js';
import {phases_by_name, stack_weight, thread_words} from './profile.js';

// The phases of a thread as [phase, weight]; phases of one name are joined.
function thread_phases(report, thread) {
  const known_phases = phases_by_name(report);
  const sums = new Map();
  for (const w of thread.phases) sums.set(w.phase, (sums.get(w.phase) || 0) + w.weight);
  return [...sums].map(([name, w]) => [known_phases.get(name), w])
    .filter(([p]) => p)
    .sort((a, b) => (a[0].kind === 'hidden') - (b[0].kind === 'hidden') || b[1] - a[1]);
}

function thread_bar(report, thread, full) {
  const weight = stack_weight(report);
  const shown = thread.weight;
  const fills = thread_phases(report, thread).map(([p, w]) => {
    const width = (100 * w) / full;
    return h('div', {
      class: `fill${unruled[p.name] || light_kinds.has(p.kind) ?
        ' on-light' : ''}`,
      style: {width: `${width}%`, '--c': `var(--${colour_of_phase(p)})`},
      'data-phase': p.name,
      'data-tip': `${thread.name}\n${p.label}: ${weight(w)}, ${part(w, shown)}\n${p.explanation}`
    },
      width > 9 && h('span', null, h('b', null, part(w, shown)), p.label));
  });
  return h('div', {class: 'stack tall', role: 'img',
    'aria-label': `${thread.name}: ${weight(shown)}`}, fills);
}

export function stacks_threads(report) {
  const weight = stack_weight(report);
  const seen = report.threads.filter((t) => t.weight > t.hidden);
  const shown = seen.slice(0, 12);
  const full = largest(shown.map((t) => t.weight)) || 1;
  const rows = shown.map((t) => [
    h('div', {class: 'name'}, thread_words(report, t)),
    thread_bar(report, t, full),
    h('div', {class: 'amount'}, weight(t.weight))
  ]);
  const used = report.phases.filter((p) => p.weight > 0);
  const words_of = (p) => (unruled[p.name] ? p.label : label_of('phase_kind', p.kind));
  const kinds = new Map();
  for (const p of used)
    if (!kinds.has(colour_of_phase(p))) kinds.set(colour_of_phase(p), words_of(p));
  return [
    h('div', {class: 'legend'}, [...kinds].map(([hue, words]) =>
      h('span', {class: 'plain'}, swatch(hue), words))),
    h('div', {class: 'host-threads'}, rows),
    seen.length > shown.length && note(`and ${plural(seen.length - shown.length, 'more thread')}`),
    report.hidden > 0 &&
      note(`${weight(report.hidden)} of ${weight(report.weight)} are counted without their stacks.`)
  ];
}
