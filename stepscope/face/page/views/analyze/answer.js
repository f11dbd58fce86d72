// SPDX-License-Identifier: Apache-2.0
// The answer comes first: the sentence, the key figures, and the data that the traces lack.

import {budget_legend, stack, total_of} from '../../draw/budget_bars.js';
import {h, unbroken} from '../../draw/elements.js';
import {categories} from '../../draw/looks.js';
import {plain, plural, runs} from '../../format/names.js';
import {bytes, count, known, ns, percent, sum} from '../../format/numbers.js';
import {one_window} from './budget.js';

const most_left_out = 3;  // files whose reason the head gives

const name_of = (input) => input.path.split('/').pop();

function devices_of(ranks) {
  const names = new Map();
  for (const r of ranks) {
    const name = r.gpu_name || (r.device === 'cpu' ? 'CPU' : plain(r.device).toUpperCase());
    names.set(name, (names.get(name) || 0) + 1);
  }
  return [...names].map(([name, n]) => (names.size > 1 ? `${n} × ${name}` : name)).join(', ');
}

function kicker(report) {
  const {job, inputs} = report;
  const parts =
      [plural(job.ranks, 'rank') +
       (job.world_size > job.ranks ? ` of ${count(job.world_size)}` : '')];
  if (report.ranks.length) parts.push(devices_of(report.ranks));
  const counted = job.steps.filter((x) => known(x.counted_ns));
  const steps = (counted.length ? counted : job.steps).map((x) => x.index);
  if (one_window(report.ranks)) parts.push('one window, no steps marked');
  else if (steps.length) parts.push(`${steps.length === 1 ? 'step' : 'steps'} ${runs(steps)}`);
  else parts.push('no steps');
  const used = inputs.filter((i) => !i.error);
  parts.push(used.length && used.length < inputs.length ?
    `${used.length} of ${plural(inputs.length, 'file')}: ${name_of(used[0])}${
      used.length > 1 ? ', …' : ''}` :
    `${plural(inputs.length, 'file')}, ${bytes(sum(inputs.map((i) => i.bytes)))}`);
  return parts.join(' · ');
}

function key_figures(report) {
  const {job, mfu} = report;
  const rows = [];
  const total = total_of(job.budget_ns || {});
  const share = (...keys) => percent(sum(keys.map((k) => job.budget_ns[k])) / total);
  if (known(job.step_mean_ns)) {
    const several = job.steps.length > 1;
    const step = job.step_mean_ns;
    const notes = [];
    if (total > 0 && step > 1.01 * total) notes.push(`first to last rank; of each ${ns(total)}`);
    if (several && known(job.step_stdev_ns))
      notes.push(`${ns(job.step_min_ns)} to ${ns(job.step_max_ns)}, σ ${ns(job.step_stdev_ns)}`);
    rows.push([one_window(report.ranks) ? 'Window' : 'Step', ns(step), notes.join('; ')]);
  }
  if (mfu && known(mfu.mfu))
    rows.push(['MFU', percent(mfu.mfu), known(mfu.hfu) && `HFU ${percent(mfu.hfu)}`]);
  else if (mfu && known(mfu.hfu))
    rows.push(['HFU', percent(mfu.hfu), 'of the peak executed']);
  const unrecorded = total > 0 ? (job.budget_ns.not_recorded || 0) / total : 0;
  if (unrecorded > 0) rows.push(['Not recorded', percent(unrecorded), 'of the step']);
  if (total > 0 && unrecorded < 0.5) {  // shares of the rest would mean nothing
    const compute = sum([job.budget_ns.compute, job.budget_ns.comm_overlapped]);
    const beside = job.budget_ns.comm_overlapped;
    rows.push(['Computing', percent(compute / total),
               beside > 0 ? `${percent(beside / total)} during communication` : 'of the step']);
    const exposed = categories().filter((c) => c.key.startsWith('comm_exposed')).map((c) => c.key);
    const communicates = job.budget_ns.comm_overlapped > 0 ||
        exposed.some((k) => job.budget_ns[k] > 0);
    if (communicates) rows.push([
      'Exposed communication', share(...exposed),
      job.budget_ns.comm_exposed_wait > 0 && `${share('comm_exposed_wait')} waiting`
    ]);
    rows.push([
      'Idle', share(...categories().filter((c) => c.key.startsWith('idle')).map((c) => c.key)),
      'nothing runs'
    ]);
  }
  const worst = report.stragglers.find((r) => r.late_ns > 0 && r.significant !== false);
  const replayed = report.answer && report.answer.verdict && report.explanation &&
      !report.explanation.refused;
  if (worst && !replayed) {  // a replay knows whether a late rank is a victim
    rows.push(['Latest rank', String(worst.rank), `at most ${ns(worst.upper_bound_ns)} a step`]);
  }
  return h(
      'dl', {class: 'figures'},
      rows.map(
          ([label, value, remark]) =>
              h('div', null, h('dt', null, label),
                h('dd', null, value, remark && h('small', null, remark)))));
}

function headline(report) {
  if (report.answer && report.answer.sentence) return report.answer.sentence;
  if (!report.ranks.length) return 'No file could be analysed.';
  return 'These traces hold no answer to where a step goes.';
}

// A command with a button that copies it, where the browser allows pages to copy.
function command(text) {
  const button = navigator.clipboard && h('button', {
    type: 'button',
    on: {
      click: () => navigator.clipboard.writeText(text).then(() => {
        button.textContent = 'Copied';
      })
    }
  },
                   'Copy');
  return h('p', {class: 'command'}, h('code', null, text), button);
}

// What it costs, what to do about it, and the step as one bar.
function first_look(report) {
  const {answer, job} = report;
  const total = total_of(job.budget_ns || {});
  const replays = answer && answer.command;
  return [
    answer && answer.culprit && !replays && h('p', {class: 'culprit'}, unbroken(answer.culprit)),
    answer && answer.remedy && h('p', {class: 'remedy'}, unbroken(`→ ${answer.remedy}`)),
    replays && command(answer.command),
    key_figures(report),
    total > 0 &&
        h('div', {class: 'one-bar'}, stack(job.budget_ns, total, 'mean step', true),
          budget_legend(job.budget_ns))
  ];
}

export function analyze_hero(report) {
  const broken = report.inputs.filter((i) => i.error);
  const said = [...new Set([...report.warnings, ...((report.mfu && report.mfu.warnings) || [])])];
  return h(
      'header', {class: 'hero'}, h('p', {class: 'kicker'}, kicker(report)),
      h('h1', null, unbroken(headline(report))),
      first_look(report),
      broken.length > 0 &&
          h('div', {class: 'notes broken', role: 'alert'},
            h('strong', null, `${plural(broken.length, 'file')} left out`),
            h('ul', null, broken.slice(0, most_left_out).map(
              (i) => h('li', null, `${name_of(i)}: ${i.error}`))),
            broken.length > most_left_out &&
              h('p', null, `… and ${count(broken.length - most_left_out)} more: see Inputs`)),
      said.length > 0 &&
          h('details', {class: 'notes'},
            h('summary', null,
              said.length === 1 ? 'One remark on these traces' :
                                  `${count(said.length)} remarks on these traces`),
            h('ul', null, said.map((w) => h('li', null, w)))));
}
