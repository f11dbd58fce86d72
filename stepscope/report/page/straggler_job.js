// SPDX-License-Identifier: Apache-2.0
// The page of a job's table of operations: how far it runs from its ideal step, which worker, stage
// or operation makes the difference, and every step.

const ratio = (v) => (known(v) ? `${v.toFixed(2)} ×` : none);

function straggler_figures(job) {
  const rows = [
    ['S', ratio(job.s), `${percent(job.waste)} of the time wasted`],
    ['Step', ns(job.replayed_step_ns), `ideal ${ns(job.ideal_step_ns)}`],
    ['Worst workers', percent(job.m_w_share), `M_W ${number(job.m_w)}`]
  ];
  if (job.stages > 1)
    rows.push(['Last stage', percent(job.m_s_share), `M_S ${number(job.m_s)}`]);
  const balance = job.stage_balance;
  if (balance)
    rows.push([`Stage ${balance.slowest}`, `+${percent(balance.more)}`,
      `over the others; balanced ${ns(balance.balanced_step_ns)}`]);
  rows.push(['With launch delays', ratio(job.s_host), `measured ${ns(job.measured_step_ns)}`]);
  return figures(rows);
}

function straggler_hero(report) {
  const job = report.straggler_job;
  const world = job.sizes.world ? ` · ${plural(job.sizes.world, 'GPU')}` : '';
  const kicker = `${job.trial_name || 'Job'}${world} · DP ${job.dp_ranks} × PP ${job.stages} · ` +
      `${plural(job.steps.length, 'step')}, ${count(job.operations)} operations`;
  return h('header', {class: 'hero'}, h('p', {class: 'kicker'}, kicker),
    h('h1', null, report.answer.sentence),
    report.answer.culprit && h('p', {class: 'culprit'}, report.answer.culprit),
    straggler_figures(job), remarks(report.warnings, 'this table'));
}

// One worker: a rectangle as dark as the share of the loss that it explains alone.
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
    h('figcaption', null, 'DP rank across, stage down. Explains nothing', h('span', {class: 'scale'}),
      'all of the loss'));
}

function job_workers_section(report) {
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

function job_groups(label, rows) {
  return data_table({
    label,
    rows,
    limit: 12,
    columns: [
      {label, text: true, value: (g) => g.name},
      {label: 'Slowdown alone', value: (g) => g.s, show: (g) => `${g.s.toFixed(4)} ×`,
        tip: 'The step over the ideal where only these operations last as recorded'}
    ]
  });
}

function job_operations_section(report) {
  const job = report.straggler_job;
  const r = job.fwd_bwd_correlation;
  return [
    job_groups('Operation', job.by_operation),
    job_groups('Stage', job.by_stage),
    job_groups('DP rank', job.by_dp_rank),
    known(r) && note(`Forward and backward of a microbatch correlate with r = ${r.toFixed(2)}; ` +
      'from 0.9 on sequence lengths differ.'),
    facts(job.without_communication.map((c) =>
      [`Free ${c.kind} communication`, `${c.speedup.toFixed(3)} × faster`, ns(c.step_ns)]))];
}

function job_steps_section(report) {
  const time = (label, key) => ({label, value: (x) => x[key], show: (x) => ns(x[key])});
  return data_table({
    label: 'Steps',
    rows: report.straggler_job.steps,
    limit: 12,
    columns: [
      {label: 'Step', value: (x) => x.step, show: (x) => String(x.step)},
      time('Measured', 'measured_ns'), time('Without launch delays', 'replayed_ns'),
      time('Ideal', 'ideal_ns'), {label: 'S', value: (x) => x.s, show: (x) => ratio(x.s)}
    ]
  });
}

const straggler_job_sections = [
  ['workers', 'Workers', 'What each explains of the loss, were it alone as fast as the ideal.',
    job_workers_section],
  ['operations', 'What is slow', 'The slowdown that each group makes with all others ideal.',
    job_operations_section],
  ['pipeline', 'Pipeline', 'What each stage idles, and why.', job_pipeline_section],
  ['steps', 'Steps', null, job_steps_section]
];
