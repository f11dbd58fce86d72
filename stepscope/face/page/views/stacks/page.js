// SPDX-License-Identifier: Apache-2.0
// The page of a host profile: the threads' activities, and its sections in order.

import {h, unbroken} from '../../draw/elements.js';
import {figures, remarks} from '../../draw/figures.js';
import {hyphened, plain, plural} from '../../format/names.js';
import {count, part} from '../../format/numbers.js';
import {stacks_device} from './device.js';
import {stacks_flame} from './flame.js';
import {stacks_functions} from './functions.js';
import {stacks_inputs} from './inputs.js';
import {stacks_phases} from './phases.js';
import {stack_weight} from './profile.js';
import {stacks_threads} from './threads.js';

const unit_remark = (unit) => {
  if (unit === 'samples') return null;
  return unit === 'nanoseconds' ? 'over all threads' : plain(unit);
};

function stacks_hero(report) {
  const weight = stack_weight(report);
  const unit = report.unit === 'samples' ? 'samples' : 'weight';
  const files = report.inputs.map((i) => i.path.split('/').pop());
  const kicker = `${files.length > 3 ? plural(files.length, 'profile') : files.join(', ')} · ${
    report.inputs[0] ? plain(report.inputs[0].format) : ''}`;
  const rows = [
    [report.unit === 'nanoseconds' ? 'Time' : hyphened(unit).replace(/^./, (c) => c.toUpperCase()),
      weight(report.weight), unit_remark(report.unit)],
    ['Threads', count(report.threads.filter((t) => t.weight > t.hidden).length)],
    ['Busy', part(report.busy, report.weight), `${part(report.idle, report.weight)} idle`],
    report.hidden > 0 && ['Not shown', part(report.hidden, report.weight), 'counted, no stacks'],
  ].filter(Boolean);
  const against = report.against && h('p', {class: 'culprit plan'},
    `Compared with ${report.against.inputs.map((i) => i.path.split('/').pop()).join(', ')}.`);
  return h('header', {class: 'hero'}, h('p', {class: 'kicker'}, kicker),
    h('h1', null, unbroken(report.answer.sentence)), against, figures(rows),
    remarks(report.warnings, 'this profile'));
}

export const stacks_page = (report) => ({
  report,
  hero: stacks_hero,
  sections: [
    {
      id: 'threads',
      title: 'Threads',
      lede: 'What each thread does; shares are of one thread.',
      draw: stacks_threads
    },
    report.trace && {
      id: 'device',
      title: 'Meanwhile on the device',
      lede: 'What the device did while the threads were in their phases.',
      draw: stacks_device
    },
    {id: 'flame', title: report.against ? 'What changed' : 'Flame graph', draw: stacks_flame},
    {
      id: 'phases',
      title: 'Phases',
      lede: 'Which part of training the stacks belong to, over all threads.',
      draw: stacks_phases
    },
    {id: 'functions', title: 'Functions', draw: stacks_functions},
    {id: 'inputs', title: 'Inputs', draw: stacks_inputs}
  ].filter(Boolean)
});
