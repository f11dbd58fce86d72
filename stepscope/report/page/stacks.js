// SPDX-License-Identifier: Apache-2.0
// The page of a host profile: what the threads do, what the device does meanwhile, the flame graph,
// phases with what they wait for, functions.

const host_hues = {
  work: 'compute',
  submit: 'attention',
  communication: 'comm_exposed_transfer',
  wait: 'comm_exposed_wait',
  memory: 'copy_exposed',
  data: 'idle_data',
  io: 'embedding',
  overhead: 'idle_launch',
  idle: 'idle_unexplained',
  hidden: 'rule'
};
const phase_kind_words = {
  work: 'computes or runs the model',
  submit: 'gives work to the device',
  communication: 'communication',
  wait: 'waits',
  memory: 'memory and copies',
  data: 'loads data',
  io: 'files and logs',
  overhead: 'overhead',
  idle: 'idle',
  hidden: 'not in the excerpt'
};
const unruled = {python: 'other_python', native: 'other_native', unknown: 'other_native'};

const light_kinds = new Set(['idle', 'overhead', 'hidden']);

const stack_weight = (report) => {
  if (report.unit === 'nanoseconds') return ns;
  if (report.unit === 'bytes') return bytes;
  return count;
};

const hue_of_phase = (p) => unruled[p.name] || host_hues[p.kind] || 'other';

const phases_by_name = (report) => new Map(report.phases.map((p) => [p.name, p]));

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
    ['Threads', count(report.threads.length)],
    ['Busy', part(report.busy, report.weight), `${part(report.idle, report.weight)} idle`],
    report.hidden > 0 && ['Not shown', part(report.hidden, report.weight), 'counted, no stacks'],
  ].filter(Boolean);
  const against = report.against && h('p', {class: 'culprit plan'},
    `Compared with ${report.against.inputs.map((i) => i.path.split('/').pop()).join(', ')}.`);
  return h('header', {class: 'hero'}, h('p', {class: 'kicker'}, kicker),
    h('h1', null, report.answer.sentence), against, figures(rows),
    remarks(report.warnings, 'this profile'));
}

// Phases of a thread, those of one name together, as [phase, weight].
function thread_phases(report, thread) {
  const known_phases = phases_by_name(report);
  const sums = new Map();
  for (const w of thread.phases) sums.set(w.phase, (sums.get(w.phase) || 0) + w.weight);
  return [...sums].map(([name, w]) => [known_phases.get(name), w])
    .filter(([p]) => p)
    .sort((a, b) => (a[0].kind === 'hidden') - (b[0].kind === 'hidden') || b[1] - a[1]);
}

const thread_words = (report, t) => {
  const file = report.inputs.length > 1 ? `${report.inputs[t.input].path.split('/').pop()} · ` : '';
  return `${file}${t.process ? `${t.process} · ` : ''}${t.name}`;
};

function thread_bar(report, thread, full) {
  const weight = stack_weight(report);
  const shown = thread.weight;
  const fills = thread_phases(report, thread).map(([p, w]) => {
    const width = (100 * w) / full;
    return h('div', {
      class: `fill${unruled[p.name] || light_kinds.has(p.kind) ?
        ' on-light' : ''}`,
      style: {width: `${width}%`, '--c': `var(--${hue_of_phase(p)})`},
      'data-phase': p.name,
      'data-tip': `${thread.name}\n${p.label}: ${weight(w)}, ${part(w, shown)}\n${p.explanation}`
    },
      width > 9 && h('span', null, h('b', null, part(w, shown)), p.label));
  });
  return h('div', {class: 'stack tall', role: 'img',
    'aria-label': `${thread.name}: ${weight(shown)}`}, fills);
}

function stacks_threads(report) {
  const weight = stack_weight(report);
  const told = report.threads.filter((t) => t.weight > t.hidden);
  const shown = told.slice(0, 12);
  const full = largest(shown.map((t) => t.weight)) || 1;
  const rows = shown.map((t) => [
    h('div', {class: 'name'}, thread_words(report, t)),
    thread_bar(report, t, full),
    h('div', {class: 'amount'}, weight(t.weight))
  ]);
  const used = report.phases.filter((p) => p.weight > 0);
  const words_of = (p) => (unruled[p.name] ? p.label : phase_kind_words[p.kind]);
  const kinds = new Map();
  for (const p of used)
    if (!kinds.has(hue_of_phase(p))) kinds.set(hue_of_phase(p), words_of(p));
  return [
    h('div', {class: 'legend'}, [...kinds].map(([hue, words]) =>
      h('span', {class: 'plain'}, swatch(hue), words))),
    h('div', {class: 'host-threads'}, rows),
    told.length > shown.length && note(`and ${plural(told.length - shown.length, 'more thread')}`),
    report.hidden > 0 &&
      note(`${weight(report.hidden)} of ${weight(report.weight)} are counted without their stacks.`)
  ];
}

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

// The tree from callees up has no phases of its own; a bar says its depth only.
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
      return p ? hue_of_phase(p) : 'other_native';
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
    return p ? hue_of_phase(p) : unruled[report.flame.phases[model.phase[i]]] || 'other';
  };
  return model;
}

function stacks_flame(report, tips) {
  const first = flame_columns(report, 'down');
  // Where one part is all there is to see, the rest would only take room.
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
    h('div', {class: 'legend'}, h('span', {class: 'plain'}, swatch('comm_exposed_wait'), 'more now'),
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

function stacks_phases(report) {
  const weight = stack_weight(report);
  const rows = report.phases.filter((p) => p.kind !== 'hidden');
  const columns = [
    {label: 'Phase', text: true, value: (p) => p.label,
      show: (p) => h('span', {class: 'chip'}, swatch(hue_of_phase(p)), p.label)},
    {label: 'Kind', text: true, value: (p) => phase_kind_words[p.kind]},
    {label: report.unit === 'samples' ? 'Samples' : 'Weight', value: (p) => p.weight,
      show: (p) => weight(p.weight)},
    {label: 'Of busy', share: true, value: (p) => p.share_of_busy ?? 0,
      show: (p) => percent(p.share_of_busy), hue: hue_of_phase},
  ];
  if (report.against)
    columns.push({label: 'Before', value: (p) => p.share_of_busy_before ?? 0,
      show: (p) => percent(p.share_of_busy_before)},
    {label: 'Change', value: (p) => (p.share_of_busy ?? 0) - (p.share_of_busy_before ?? 0),
      show: (p) => {
        const points = 100 * ((p.share_of_busy ?? 0) - (p.share_of_busy_before ?? 0));
        return `${points >= 0 ? '+' : '−'}${Math.abs(points).toFixed(1)}`;
      }});
  columns.push({label: 'In', text: true, value: (p) => Object.keys(p.passes).map(plain).join(', ')},
    {label: 'What the thread does there', text: true, class: 'wide', value: (p) => p.explanation});
  return data_table({label: 'Phases', columns, rows, sort: 2, limit: 30});
}

function stacks_functions(report) {
  const weight = stack_weight(report);
  const known_phases = phases_by_name(report);
  const phase = (f) => known_phases.get(f.phase);
  const all = report.weight - report.hidden || 1;
  const place = (f) => (f.file ? `${f.file.split('/').pop()}${f.line ? `:${f.line}` : ''}` : '');
  return data_table({
    label: 'Functions', rows: report.functions, filter: 'Filter functions', sort: 1, limit: 25,
    columns: [
      {label: 'Function', name: true, first: true, value: (f) => f.function,
        hue: (f) => (phase(f) ? hue_of_phase(phase(f)) : 'other')},
      {label: 'Itself', value: (f) => f.self, show: (f) => weight(f.self)},
      {label: 'Share', share: true, value: (f) => f.self / all, show: (f) => part(f.self, all)},
      {label: 'With callees', value: (f) => f.total, show: (f) => weight(f.total)},
      {label: 'Where', text: true, value: place},
      {label: 'Phase', text: true, value: (f) => (phase(f) ? phase(f).label : '')}
    ]
  });
}

function stacks_inputs(report) {
  const row = (i) => ({...i, said: Object.entries(i.notes)
    .map(([reason, n]) => `${plain(reason)}: ${count(n)}`).join('; ')});
  return data_table({
    label: 'Inputs', rows: report.inputs.map(row), columns: [
      {label: 'File', text: true, class: 'wide', value: (i) => i.path},
      {label: 'Format', text: true, value: (i) => plain(i.format)},
      {label: 'Size', value: (i) => i.text_bytes, show: (i) => bytes(i.text_bytes)},
      {label: 'Stacks', value: (i) => i.stacks, show: (i) => count(i.stacks)},
      {label: 'Skipped or repaired', text: true, class: 'wide', value: (i) => i.said}
    ]
  });
}

const stacks_sections = (report) => [
  ['threads', 'Threads', 'What each thread does; shares are of one thread.', stacks_threads],
  ...(report.trace ? [['device', 'Meanwhile on the device',
    'What the device did while the threads were in their phases.', stacks_device]] : []),
  ['flame', report.against ? 'What changed' : 'Flame graph', null, stacks_flame],
  ['phases', 'Phases', 'Which part of training the stacks belong to, over all threads.',
    stacks_phases],
  ['functions', 'Functions', null, stacks_functions],
  ['inputs', 'Inputs', null, stacks_inputs],
];
