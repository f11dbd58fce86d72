// SPDX-License-Identifier: Apache-2.0
// The page of a hang: the answer, and its sections in order.

import {h, unbroken} from '../../draw/elements.js';
import {figures, remarks} from '../../draw/figures.js';
import {plural} from '../../format/names.js';
import {bytes, count, sum} from '../../format/numbers.js';
import {hang_calls} from './calls.js';
import {hang_findings} from './findings.js';
import {hang_groups} from './groups.js';
import {hang_incident, has_incident} from './incident.js';
import {hang_inputs} from './inputs.js';
import {communicators, hang_nccl} from './nccl.js';
import {rings_section} from './rings.js';
import {joined_shapes} from './shapes.js';
import {trees_section} from './trees.js';

const long_answer = 200;  // letters: several errors and findings

function hang_hero(report) {
  const files = report.inputs.map((i) => i.path.split('/').pop());
  const kicker = files.length > 3 ? plural(files.length, 'file') : files.join(', ');
  const processes = new Set(communicators(report).flatMap((c) =>
    c.members.map((m) => `${m.host}:${m.pid}`))).size;
  const rows = [
    report.last_calls.length > 0 && ['Ranks with calls', count(report.last_calls.length)],
    processes > 0 && ['Processes of NCCL', count(processes)],
    ['Groups with calls', count(report.groups.filter((g) => g.calls + g.pairs > 0).length)],
    ['Calls', count(report.calls)],
    ['Findings', count(report.findings.length)],
    ['Records', bytes(sum(report.inputs.map((i) => i.text_bytes)))]
  ].filter(Boolean);
  const {sentence} = report.answer;
  return h('header', {class: 'hero'}, h('p', {class: 'kicker'}, kicker),
    h('h1', {class: sentence.length > long_answer ? 'long' : null}, unbroken(sentence)),
    figures(rows),
    remarks(report.warnings, 'these records'));
}

export function hang_page(report) {
  const shapes = joined_shapes(communicators(report));
  const has = (key) => shapes.some((x) => x[key].length > 0);
  return {
    report,
    hero: hang_hero,
    sections: [
      has_incident(report) && {id: 'incident', title: 'Errors and ends',
        lede: 'What the files say, the first of it first.', draw: hang_incident},
      report.findings.length > 0 && {id: 'findings', title: 'Findings',
        lede: 'Causes come first.', draw: hang_findings},
      {id: 'groups', title: 'Groups', lede: 'By the numbers of their calls.', draw: hang_groups},
      {id: 'calls', title: 'Last calls of the ranks', draw: hang_calls},
      report.nccl && {id: 'nccl', title: 'NCCL', draw: hang_nccl},
      has('ring_orders') && {
        id: 'rings',
        title: 'Rings',
        lede: 'Each rank sends to the next along the ring. Channels of one order are one picture.',
        draw: (_, tips) => rings_section(shapes, tips)
      },
      has('tree_shapes') && {
        id: 'trees',
        title: 'Trees',
        lede: 'A reduction goes up to the root, its result comes down. ' +
          'Channels of one shape are one picture.',
        draw: (_, tips) => trees_section(shapes, tips)
      },
      {id: 'inputs', title: 'Inputs', draw: hang_inputs}
    ].filter(Boolean)
  };
}
