// SPDX-License-Identifier: Apache-2.0
// The page of memory snapshots: what holds a device's memory at its peak and over time, who asked
// for it, what is lost between blocks, where the allocator ran short.

const use_order = ['parameters', 'optimizer', 'gradients', 'activations', 'temporary', 'unknown'];
const use_hue = (use) => holdings[use] || 'other';

const snapshot_name = (report, d) => {
  const place = d.device === -1 ? 'pinned host memory' : `device ${d.device}`;
  const file = report.inputs[d.input].path.split('/').pop();
  const rank = known(d.rank) ? `rank ${d.rank} · ` : '';
  return report.inputs.length > 1 && !rank ? `${file} · ${place}` : `${rank}${place}`;
};

// The device that holds most comes first.
const by_peak = (report) => [...report.devices].sort(
  (a, b) => b.peak.memory.live_bytes - a.peak.memory.live_bytes);

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
    h('h1', null, report.answer.sentence), figures(rows),
    remarks(report.warnings, 'this snapshot'));
}

// One device at a time where there are several.
function by_device(report, draw) {
  const devices = by_peak(report);
  if (devices.length < 2) return devices.map(draw);
  const box = h('div');
  const show = (i) => box.replaceChildren(...[draw(devices[Number(i)])].flat(Infinity)
    .filter(Boolean));
  const options = devices.map((d, i) => [i, snapshot_name(report, d)]);
  show(0);
  return [h('div', {class: 'tools'}, select('Device', options, 0, show)), box];
}

// The states to draw, as points with the instant that the x axis shows: time, or events where none
// is recorded.
function snapshot_points(d) {
  const timed = d.timeline.every((p) => known(p.time_ns));
  const points = d.timeline.map((p) => ({...p, time_ns: timed ? p.time_ns : p.event}));
  return {timed, points};
}

function use_areas(frame, points) {
  const {box, x, y} = frame;
  const below = points.map(() => 0);
  return use_order.map((use) => {
    const top = points.map((p, i) => below[i] + p.by_use_bytes[use]);
    if (!points.some((p) => p.by_use_bytes[use] > 0)) return null;
    const edge = (values) => points.map((p, i) => [x(p.time_ns), y(values[i])]);
    const step = (at) => at.map(([px, py], i) => (i ?
      `H${px.toFixed(1)}V${py.toFixed(1)}` : `L${px.toFixed(1)},${py.toFixed(1)}`)).join('');
    const back = (at) => at.map(([px, py], i) => {
      const next = at[i + 1];
      return `L${px.toFixed(1)},${py.toFixed(1)}` +
        (next ? `L${px.toFixed(1)},${next[1].toFixed(1)}` : '');
    }).join('');
    const [upper, lower] = [edge(top), edge([...below])];
    const path = `M${box.left},${lower[0][1].toFixed(1)}${step(upper)}${back(lower.reverse())}Z`;
    for (let i = 0; i < below.length; i++) below[i] = top[i];
    return s('path', {d: path, fill: `var(--${use_hue(use)})`, 'fill-opacity': 0.75,
      'data-use': use, 'data-tip': `${use}\nat most ${
        bytes(largest(points.map((p) => p.by_use_bytes[use])))}`});
  });
}

function snapshot_chart(d, width) {
  const {timed, points} = snapshot_points(d);
  const shape = {
    peak_allocated_bytes: d.peak.memory.live_bytes,
    peak_time_ns: timed ? d.peak.time_ns : d.peak.event
  };
  const frame = memory_frame(shape, points, width);
  const {box} = frame;
  const units = [[1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB'], [1, 'B']];
  const unit = units.find((u) => frame.top >= u[0]) || units[3];
  const marks = ticks(0, frame.top / unit[0], 5);
  const label = (t) => `${round(digits(t))} ${unit[1]}`;
  const say = (t) => (timed ? round(ns(t)) : `event ${count(t)}`);
  const failed = d.out_of_memory.map((o) => {
    const at = frame.x(timed ? o.time_ns : o.event);
    return s('line', {x1: at, x2: at, y1: box.top, y2: box.bottom,
      stroke: 'var(--comm_exposed_wait)', 'stroke-width': 1.5, 'stroke-dasharray': '4 2',
      'data-tip': `out of memory: ${bytes(o.request_bytes)} asked for, ${plain(o.verdict)}`});
  });
  const under = {y: frame.height - 8, class: 'axis'};
  return h('figure', null,
    s('svg', {viewBox: `0 0 ${width} ${frame.height}`, role: 'img',
      'aria-label': `Memory over time, peak ${bytes(shape.peak_allocated_bytes)}`},
      grid_lines(box, marks, (t) => frame.y(t * unit[0]), label),
      use_areas(frame, points),
      s('path', {d: frame.line('reserved_bytes'), fill: 'none', stroke: 'var(--soft)',
        'stroke-dasharray': '5 3'}),
      failed, memory_peak(frame, shape),
      s('text', {x: box.left, ...under}, say(frame.from)),
      s('text', {x: box.right, 'text-anchor': 'end', ...under}, say(frame.to))),
    h('figcaption', null, 'Filled: live blocks by use (below: at the peak). Dashed: reserved from the device.',
      failed.length > 0 && ' Upright: an allocation that failed.'));
}

// Every use that is drawn, with what it holds at the peak.
function snapshot_legend(d) {
  const at = d.peak;
  const live = at.memory.live_bytes;
  const drawn = (u) => [at, ...d.timeline].some((p) => p.by_use_bytes[u] > 0);
  return h('div', {class: 'legend'}, use_order.filter(drawn)
    .map((u) => h('span', {class: 'plain'}, swatch(use_hue(u)), plain(u),
      h('span', {class: 'amount'}, `${bytes(at.by_use_bytes[u])} · ${
        part(at.by_use_bytes[u], live)}`))));
}

const snapshot_time = (report) => by_device(report, (d) => [
  d.timeline.length > 1 ? fitted((width) => snapshot_chart(d, width)) :
    missing('No history is recorded: ',
      h('code', null, 'torch.cuda.memory._record_memory_history()'), ' before the model is built.'),
  snapshot_legend(d)
]);

const snapshot_findings = (report) => by_device(report, (d) => (d.findings.length ?
  h('ol', {class: 'findings'}, d.findings.map((f) => h('li', {'data-finding': f.id},
    h('p', null, h('b', null, f.sentence)), f.advice && h('p', null, f.advice)))) :
  note('Nothing stands out.')));

function snapshot_holders(report) {
  return by_device(report, (d) => {
    const live = d.peak.memory.live_bytes;
    return [data_table({
      label: 'Holders', rows: d.peak.holders, filter: 'Filter places', sort: 1, limit: 25,
      columns: [
        {label: 'Where', name: true, first: true, value: (r) => r.place,
          hue: (r) => use_hue(r.use)},
        {label: 'Bytes', value: (r) => r.bytes, show: (r) => bytes(r.bytes)},
        {label: 'Share', share: true, value: (r) => r.bytes / (live || 1),
          show: (r) => part(r.bytes, live), hue: (r) => use_hue(r.use)},
        {label: 'Blocks', value: (r) => r.blocks, show: (r) => count(r.blocks)},
        {label: 'Use', text: true, value: (r) => r.use},
        {label: 'Operator', text: true, value: (r) => r.operator}
      ]
    }), d.peak.holders_left_out > 0 &&
      note(`and ${plural(d.peak.holders_left_out, 'smaller place')}`)];
  });
}

function snapshot_flame(report, tips) {
  return by_device(report, (d) => {
    const model = flame_model(d.tree, null);
    const hues = ['compute', 'attention', 'optimizer', 'comm_exposed_transfer', 'norm', 'loss'];
    model.hue = (i) => hues[Math.floor(name_noise(model.words[i]) * hues.length)];
    const flame = new Flame(model, {
      label: 'Live bytes at the peak by call path', tips,
      tip: (m, i) => `${m.words[i]}\n${bytes(m.total[i])}, ${part(m.total[i], m.total[0])} of all`
    });
    const search = h('input', {
      type: 'search', placeholder: 'Mark functions', 'aria-label': 'Mark functions',
      on: {input: () => flame.search(search.value)}
    });
    return [h('div', {class: 'tools'}, search), flame.box, flame.said,
      note('As wide as the bytes alive at the peak that were allocated below it. A click makes a ',
        'bar fill the width, a second one or Esc goes back.')];
  });
}

const fragment_rows = [
  ['reserved_bytes', 'Reserved from the device'], ['requested_bytes', 'Requested'],
  ['rounding_bytes', 'Rounding'], ['stranded_bytes', 'Stranded between blocks'],
  ['cached_bytes', 'Cached, can go back'], ['largest_free_bytes', 'Largest free block'],
  ['pending_bytes', 'Waiting for another stream']
];

function snapshot_fragments(report) {
  return by_device(report, (d) => data_table({
    label: 'Fragmentation', rows: fragment_rows.map(([key, label]) => ({key, label})), limit: 20,
    columns: [
      {label: 'What', text: true, value: (r) => r.label},
      {label: 'At the peak', value: (r) => d.peak.memory[r.key],
        show: (r) => bytes(d.peak.memory[r.key])},
      {label: 'Of reserved', share: true,
        value: (r) => d.peak.memory[r.key] / (d.peak.memory.reserved_bytes || 1),
        show: (r) => part(d.peak.memory[r.key], d.peak.memory.reserved_bytes)},
      {label: 'At the end', value: (r) => d.end.memory[r.key],
        show: (r) => bytes(d.end.memory[r.key])}
    ]
  }));
}

function snapshot_shortages(report) {
  return by_device(report, (d) => data_table({
    label: 'Failed allocations', rows: d.out_of_memory, limit: 20,
    columns: [
      {label: 'At', value: (o) => o.event,
        show: (o) => (known(o.time_ns) ? ns(o.time_ns) : `event ${count(o.event)}`)},
      {label: 'Asked for', value: (o) => o.request_bytes, show: (o) => bytes(o.request_bytes)},
      {label: 'Why', text: true, value: (o) => plain(o.verdict)},
      {label: 'Largest usable', value: (o) => o.largest_usable_bytes,
        show: (o) => bytes(o.largest_usable_bytes)},
      {label: 'Free in the cache', value: (o) => o.memory.cached_bytes + o.memory.stranded_bytes,
        show: (o) => bytes(o.memory.cached_bytes + o.memory.stranded_bytes)},
      {label: 'Free on the device', value: (o) => o.device_free_bytes,
        show: (o) => bytes(o.device_free_bytes)},
      {label: 'Missing', value: (o) => o.missing_bytes, show: (o) => bytes(o.missing_bytes)},
      {label: 'Asked by', text: true, class: 'wide', value: (o) => o.stack[0]}
    ]
  }));
}

const snapshot_inputs = (report) => data_table({
  label: 'Inputs', rows: report.inputs, columns: [
    {label: 'File', text: true, class: 'wide', value: (i) => i.path},
    {label: 'Form', text: true, value: (i) => i.format},
    {label: 'Size', value: (i) => i.text_bytes, show: (i) => bytes(i.text_bytes)},
    {label: 'Stacks', value: (i) => i.stacks, show: (i) => count(i.stacks)},
    {label: 'Allocator', text: true, value: (i) => (i.settings ? i.settings.text : null)},
    {label: 'Not understood', text: true, class: 'wide', value: (i) => notes_text(i.notes)}
  ]
});

const snapshot_sections = (report) => (report.devices.length ? [
  ['time', 'Memory over time', null, snapshot_time],
  ['findings', 'What to try', null, snapshot_findings],
  ['holders', 'Who asked for it', 'Lines of the program, by what they hold at the peak.',
    snapshot_holders],
  ['flame', 'By call path', null, snapshot_flame],
  ['fragments', 'Fragmentation',
    'Requested, rounding, stranded and cached sum to what is reserved.', snapshot_fragments],
  ...(report.devices.some((d) => d.out_of_memory.length) ?
    [['shortages', 'Allocations that failed', null, snapshot_shortages]] : []),
  ['inputs', 'Inputs', null, snapshot_inputs]
] : [['inputs', 'Inputs', null, snapshot_inputs]]);
