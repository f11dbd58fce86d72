// SPDX-License-Identifier: Apache-2.0
// The share of the loss that each worker explains.

import {fitted} from '../../draw/chart.js';
import {h, note, s} from '../../draw/elements.js';
import {data_table} from '../../draw/table.js';
import {known, ns, percent, ratio} from '../../format/numbers.js';

// One worker: a rectangle whose darkness is the share of the loss that the worker alone explains.
function worker_cell(grid, w) {
  const x = grid.left + grid.column.get(w.dp_rank) * grid.wide;
  const y = w.stage * grid.tall;
  const share = known(w.rem) ? Math.max(0, Math.min(1, w.rem)) : 0;
  const tip = `rank ${w.rank}: DP rank ${w.dp_rank}, stage ${w.stage}\nmended alone: ` +
      `${percent(w.rem)} of the loss, a step of ${ns(w.removed_step_ns)}\nscore ${ratio(w.score)}`;
  return s('rect', {
    class: 'cell', x, y, width: grid.wide, height: grid.tall, 'data-rank': w.rank,
    fill: 'var(--comm_exposed_wait)', 'fill-opacity': (0.05 + 0.95 * share).toFixed(3),
    'data-tip': tip
  });
}

function worker_map(job, room) {
  const dp_ranks = [...new Set(job.workers.map((w) => w.dp_rank))].sort((a, b) => a - b);
  const left = 64;
  const wide = Math.max(4, Math.min(64, (room - left) / dp_ranks.length));
  const tall = Math.max(8, Math.min(26, 640 / job.stages));
  const grid = {left, wide, tall, column: new Map(dp_ranks.map((d, i) => [d, i]))};
  const foot = job.stages * tall + 16;
  const every = Math.max(1, Math.ceil(30 / wide));
  const down = Math.max(1, Math.ceil(14 / tall));
  const stages = [...Array(job.stages).keys()].filter((k) => k % down === 0).map((k) =>
    s('text', {x: left - 8, y: k * tall + tall / 2 + 4, 'text-anchor': 'end'}, `stage ${k}`));
  const ranks = dp_ranks.map((d, i) => i % every === 0 &&
    s('text', {x: left + i * wide + wide / 2, y: foot, 'text-anchor': 'middle'}, d));
  const frame = {
    viewBox: `0 0 ${left + dp_ranks.length * wide} ${foot + 8}`,
    style: {width: `${left + dp_ranks.length * wide}px`}
  };
  return h('figure', null,
    s('svg', {class: 'heat', ...frame, role: 'img',
      'aria-label': 'What each worker explains of the loss'},
      job.workers.map((w) => worker_cell(grid, w)), stages, ranks),
    h('figcaption', null, 'DP rank across, stage down. Explains nothing',
      h('span', {class: 'scale'}),
      'all of the loss'));
}

export function job_workers_section(report) {
  const job = report.straggler_job;
  return [
    fitted((width) => worker_map(job, width)),
    data_table({
      label: 'Workers by what they explain',
      rows: job.workers,
      limit: 10,
      columns: [
        {label: 'Rank', value: (w) => w.rank, show: (w) => String(w.rank)},
        {label: 'DP rank', value: (w) => w.dp_rank, show: (w) => String(w.dp_rank)},
        {label: 'Stage', value: (w) => w.stage, show: (w) => String(w.stage)},
        {label: 'Score', value: (w) => w.score, show: (w) => ratio(w.score),
          tip: 'The smaller slowdown of its DP rank and of its stage'},
        {label: 'Explains', value: (w) => w.rem, show: (w) => percent(w.rem),
          tip: 'From a replay in which this worker alone is ideal'},
        {label: 'Step then', value: (w) => w.removed_step_ns, show: (w) => ns(w.removed_step_ns)}
      ]
    }),
    note('The ideal averages over stages, so a share can lie below 0 % or above 100 %.')];
}
