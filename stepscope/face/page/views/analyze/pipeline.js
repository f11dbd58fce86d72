// SPDX-License-Identifier: Apache-2.0
// The bubble of each pipeline stage: the time in a step that it works, fills, waits between passes
// and drains, and the causes.

import {h, missing, note, swatch} from '../../draw/elements.js';
import {bubble_colours} from '../../draw/looks.js';
import {data_table} from '../../draw/table.js';
import {plural, ranks_text} from '../../format/names.js';
import {count, known, largest, none, ns, percent, signed, sum} from '../../format/numbers.js';
import {keys_of, label_of} from '../../terms.js';
import {bundles_or_ranks, rank_cell} from './job/bundle_choice.js';

const bubble_parts = () => keys_of('bubble').map(
    (key) => ({key, label: label_of('bubble', key), hue: bubble_colours[key]}));
const bubble_time = (part) => typeof part === 'number' ? part : sum(Object.values(part));

// Means per step.
export function bubble_row(r, steps) {
  const mean = (part) => bubble_time(part) / Math.max(1, steps);
  const due = Object.fromEntries(Object.entries(r.due_to_ns).map(
      ([key, t]) => [key, known(t) ? t / Math.max(1, steps) : null]));
  const inside = (key) => mean(r.fill_ns[key] + r.between_ns[key] + r.drain_ns[key]);
  return {
    ...due,
    stage: r.stage,
    rank: known(r.rank) ? r.rank : null,
    wall: mean(r.wall_ns),
    bubble: mean(r.bubble_ns),
    parts: bubble_parts().map((p) => ({...p, ns: mean(r[p.key])})),
    idle: inside('idle'),
    message: inside('message'),
    wait: inside('wait'),
  };
}

function bubble_bar(row, full) {
  const ranks = row.ranks || [row.rank];
  const name = `stage ${row.stage}${known(row.rank) ? ` · ${ranks_text(ranks, 3)}` : ''}`;
  const bar = h('div', {
    class: 'stack',
    role: 'img',
    'aria-label': `${name}: ${row.parts.map((p) => `${p.label} ${ns(p.ns)}`).join(', ')}`
  }, row.parts.map((p) => h('div', {
    class: 'fill',
    style: {width: `${(100 * p.ns) / full}%`, '--c': `var(--${p.hue})`},
    'data-tip': `${name}: ${p.label} ${ns(p.ns)}, ${percent(p.ns / row.wall)}`
  })));
  return h('div', {class: 'bar-row'}, h('div', {class: 'label'}, name), bar,
    h('div', {class: 'value'}, percent(row.bubble / row.wall)));
}

function bubble_table(rows) {
  const time = (label, key, tip) => rows.some((r) => known(r[key]) && r[key] !== 0) && {
    label,
    value: (r) => r[key],
    show: (r) => known(r[key]) ? signed(r[key]) : none,
    tip
  };
  return data_table({
    label: 'Bubble by stage',
    rows,
    limit: 16,
    columns: [
      {label: 'Stage', value: (r) => -r.stage, show: (r) => String(r.stage)},
      rows.some((r) => known(r.rank)) &&
          {label: 'Rank', value: (r) => r.rank, show: rank_cell},
      time('Bubble', 'bubble'), time('Idle', 'idle', 'Nothing runs'),
      time('In messages', 'message', 'Only a send or receive between stages runs'),
      time('Waiting', 'wait', 'Only another collective runs, and waits for a peer'),
      time('Schedule', 'schedule', 'What stages that are all alike would idle'),
      time('Imbalance', 'imbalance', 'Less than nothing where this stage has more to do'),
      time('Links', 'links', 'What messages that take no time would give back'),
      time('Other', 'rest')
    ].filter(Boolean)
  });
}

function bubble_view(pipeline, rows) {
  const full = largest(rows.map((r) => r.wall)) || 1;
  const efficiency = known(pipeline.efficiency) ?
      ` The efficiency is ${percent(pipeline.efficiency)}.` :
      '';
  const even = known(pipeline.even_efficiency) ?
      ` Stages that are all alike would have ${percent(pipeline.even_efficiency)}, a bubble of ${
          percent(1 - pipeline.even_efficiency)}.` :
      '';
  const words = [
    known(pipeline.micro_batches) && `${count(pipeline.micro_batches)} micro-batches`,
    pipeline.chunks > 1 && plural(pipeline.chunks, 'chunk') + ' a stage',
    pipeline.schedule && label_of('schedule', pipeline.schedule)
  ].filter(Boolean);
  const bars = rows.slice(0, 32);
  return [
    h('div', {class: 'legend'},
      bubble_parts().map(({label, hue}) => h('span', {class: 'plain'}, swatch(hue), label))),
    h('div', {class: 'bars'}, bars.map((r) => bubble_bar(r, full))),
    rows.length > bars.length && note(`and ${count(rows.length - bars.length)} more`),
    bubble_table(rows),
    note(`Means a step, from the first forward of any stage to the last backward of any. ${
        words.length ? `${words.join(', ')}.` : ''}${efficiency}${even}`)
  ];
}

export function pipeline_section(report) {
  const pipeline = report.pipeline;
  if (!pipeline) return missing('No bubble of a pipeline is known.');
  const rows = pipeline.ranks.map((r) => bubble_row(r, r.steps.length));
  return bundles_or_ranks(report, rows, (shown) => bubble_view(pipeline, shown),
    {key_of: (r) => r.stage});
}
