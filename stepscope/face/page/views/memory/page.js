// SPDX-License-Identifier: Apache-2.0
// The page of memory snapshots: the answer, and its sections in order.

import {h, unbroken} from '../../draw/elements.js';
import {figures, remarks} from '../../draw/figures.js';
import {plural} from '../../format/names.js';
import {bytes, count, part} from '../../format/numbers.js';
import {memory_checkpoints} from './checkpoints.js';
import {by_peak} from './devices.js';
import {snapshot_findings} from './findings.js';
import {snapshot_flame} from './flame.js';
import {snapshot_fragments} from './fragments.js';
import {snapshot_holders} from './holders.js';
import {snapshot_inputs} from './inputs.js';
import {snapshot_shortages} from './shortages.js';
import {snapshot_time} from './time.js';

function snapshot_hero(report) {
  const files = report.inputs.map((i) => i.path.split('/').pop());
  const kicker = files.length > 3 ? plural(files.length, 'snapshot') : files.join(', ');
  const d = by_peak(report)[0];
  const m = d && d.peak.memory;
  const rows = d ? [
    ['Live at the peak', bytes(m.live_bytes), d.events > 0 ? `of ${plural(d.events, 'event')}` :
      'at the snapshot'],
    ['Reserved', bytes(m.reserved_bytes), `${bytes(d.peak_reserved_bytes)} at most`],
    ['Stranded', bytes(m.stranded_bytes), part(m.stranded_bytes, m.reserved_bytes)],
    ['Largest free block', bytes(m.largest_free_bytes)],
    d.out_of_memory_count > 0 && ['Failed allocations', count(d.out_of_memory_count)],
  ].filter(Boolean) : [];
  return h('header', {class: 'hero'}, h('p', {class: 'kicker'}, kicker),
    h('h1', null, unbroken(report.answer.sentence)), figures(rows),
    remarks(report.warnings, 'this snapshot'));
}

const device_sections = (report) => [
  {id: 'time', title: 'Memory over time', draw: snapshot_time},
  {id: 'findings', title: 'What to try', draw: snapshot_findings},
  {
    id: 'holders',
    title: 'Who asked for it',
    lede: 'Lines of the program, by what they hold at the peak.',
    draw: snapshot_holders
  },
  {id: 'flame', title: 'By call path', draw: snapshot_flame},
  {
    id: 'fragments',
    title: 'Fragmentation',
    lede: 'Requested, rounding, stranded and cached sum to what is reserved.',
    draw: snapshot_fragments
  },
  report.devices.some((d) => d.out_of_memory.length) &&
      {id: 'shortages', title: 'Allocations that failed', draw: snapshot_shortages}
].filter(Boolean);

export const memory_page = (report) => ({
  report,
  hero: snapshot_hero,
  sections: [
    ...(report.devices.length ? device_sections(report) : []),
    ...(report.checkpoints.length ?
      [{id: 'checkpoints', title: 'Printed totals', draw: memory_checkpoints}] : []),
    {id: 'inputs', title: 'Inputs', draw: snapshot_inputs}
  ]
});
