// SPDX-License-Identifier: Apache-2.0
// Host profiles with a trace: the device's activity while a thread was in a phase.

import {spoken, total_of} from '../../draw/budget_bars.js';
import {h, missing, swatch} from '../../draw/elements.js';
import {categories, colour_of_phase} from '../../draw/looks.js';
import {data_table} from '../../draw/table.js';
import {plain} from '../../format/names.js';
import {none, part, percent, sum} from '../../format/numbers.js';
import {findings_section} from '../analyze/findings.js';
import {phases_by_name, stack_weight, thread_words} from './profile.js';

const device_words = (p) => (p.device === 'cpu' ? 'main thread' : 'device');

// A bar of categories with full width. It shows shares, so any unit works.
function meanwhile_bar(device, name) {
  const total = total_of(device);
  if (!total) return none;
  const parts = categories().filter((c) => device[c.key] > 0).map((c) => h('div', {
    class: `fill ${c.pattern || ''} ${c.light ? 'on-light' : ''}`,
    style: {width: `${(100 * device[c.key]) / total}%`, '--c': `var(--${c.key})`},
    'data-category': c.key,
    'data-tip': `${name}\n${c.label}: ${part(device[c.key], total)}\n${c.explanation}`
  }));
  return h('div', {class: 'stack', role: 'img', style: {'min-width': '11em'},
    'aria-label': `${name}: ${spoken(device, total)}`}, parts);
}

const share_of = (device, match) =>
  sum(categories().filter((c) => match(c.key)).map((c) => device[c.key] || 0)) /
    (total_of(device) || 1);

function meanwhile_rows(report, p) {
  const known_phases = phases_by_name(report);
  const rows = [];
  for (const t of p.threads)
    for (const w of t.phases) {
      const phase = known_phases.get(w.phase);
      if (!phase || phase.kind === 'idle' || phase.kind === 'hidden') continue;
      if (total_of(w.device) < 0.005 * total_of(t.device)) continue;
      rows.push({...w, label: phase.label, hue: colour_of_phase(phase),
        thread: thread_words(report, report.threads[t.thread]),
        words: w.pass === 'other' ? phase.label : `${plain(w.pass)} · ${phase.label}`});
    }
  return rows;
}

function meanwhile_table(report, p) {
  const weight = stack_weight(report);
  const idle = (r) => share_of(r.device, (key) => key.startsWith('idle'));
  return data_table({
    label: `What the ${device_words(p)} of rank ${p.rank} did meanwhile`,
    rows: meanwhile_rows(report, p), sort: 2, limit: 20,
    columns: [
      {label: 'Thread', text: true, class: 'wide', value: (r) => r.thread},
      {label: 'While in', text: true, value: (r) => r.words,
        show: (r) => h('span', {class: 'chip'}, swatch(r.hue), r.words)},
      {label: report.unit === 'samples' ? 'Samples' : 'Weight', value: (r) => total_of(r.device),
        show: (r) => weight(total_of(r.device)), tip: 'Within the steps of the trace'},
      {label: 'Meanwhile', text: true, value: idle, class: 'wide',
        show: (r) => meanwhile_bar(r.device, r.words)},
      {label: 'Idle', value: idle, show: (r) => percent(idle(r))},
      {label: 'Outside', value: (r) => r.outside / (r.weight || 1),
        show: (r) => part(r.outside, r.weight), tip: 'Before, between and after the steps'}
    ]
  });
}

function device_under_profile(report, p) {
  const file = report.inputs[p.input].path.split('/').pop();
  const budget = [
    h('p', {class: 'note'}, `The ${device_words(p)} of rank ${p.rank} over its steps:`),
    meanwhile_bar(p.budget_ns, 'all of the steps')
  ];
  const head = report.trace.profiles.length > 1 && h('h3', null, file);
  if (!p.joined) return [head, missing(`Not joined in time: ${p.not_joined}.`), budget];
  return [head, meanwhile_table(report, p), budget];
}

export function stacks_device(report) {
  const {trace} = report;
  const used = {};
  for (const p of trace.profiles)
    for (const c of categories())
      used[c.key] = (used[c.key] || 0) + (p.budget_ns[c.key] || 0);
  return [
    trace.findings.length > 0 && findings_section(
      {findings: trace.findings, job: {step_mean_ns: trace.step_mean_ns || 0}}),
    h('div', {class: 'legend'}, categories().filter((c) => used[c.key] > 0).map((c) =>
      h('span', {class: 'plain', 'data-tip': c.explanation}, swatch(c.key, c.pattern), c.label))),
    trace.profiles.map((p) => device_under_profile(report, p))
  ];
}
