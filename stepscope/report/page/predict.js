// SPDX-License-Identifier: Apache-2.0
// The page of a prediction: the answer, where the step goes, what fills the memory, the plans
// compared, every operation.

const step_terms = {
  matmul: 'matmul',
  attention: 'attention',
  pointwise: 'elementwise',
  recompute: 'recompute',
  host: 'idle_host',
  tensor_comm: 'comm_exposed_transfer',
  context_comm: 'comm_exposed_unsplit',
  expert_comm: 'idle_dependency',
  pipeline_comm: 'comm_overlapped',
  data_comm: 'comm_exposed_wait',
  bubble: 'idle_sync',
  optimizer: 'optimizer',
  offload: 'copy_exposed'
};
const memory_terms = {
  parameters: ['parameters', 'compute'],
  gathered: ['gathered units', 'comm_overlapped'],
  gradients: ['gradients', 'recompute'],
  buckets: ['gradient buckets', 'comm_exposed_transfer'],
  master: ['master weights', 'attention'],
  optimizer: ['optimizer states', 'optimizer'],
  activations: ['activations kept', 'memory_bound'],
  workspace: ['workspace', 'idle_sync'],
  logits: ['logits', 'loss']
};
const class_colours = {
  matmul: 'matmul',
  attention: 'attention',
  softmax: 'comm_exposed_transfer',
  norm: 'norm',
  pointwise: 'elementwise',
  embedding: 'embedding',
  loss: 'loss'
};

function predict_figures(report) {
  const spare = report.memory.headroom_bytes;
  const rows = [
    ['Step', ns(report.step_time_ns)],
    ['MFU', percent(report.mfu), `HFU ${percent(report.hfu)}`],
    [
      'Tokens a second', compact(report.tokens_per_second),
      `${compact(report.tokens_per_second_per_device)} a device`
    ],
    [
      'Memory', bytes(report.memory_bytes.total),
      known(spare) &&
          (spare >= 0 ? `${bytes(spare)} to spare` : `${bytes(-spare)} too much`)
    ]
  ];
  if (report.cost)
    rows.push(['Cost of a step', number(report.cost.per_step),
      `${number(report.cost.per_giga_token)} for 10⁹ tokens`]);
  return figures(rows);
}

const figures = (rows) => h('dl', {class: 'figures'},
  rows.map(([label, value, remark]) => h('div', null, h('dt', null, label),
    h('dd', null, value, remark && h('small', null, remark)))));

const remarks = (warnings, on) => warnings.length > 0 &&
    h('details', {class: 'notes', open: warnings.length <= 3},
      h('summary', null, `${plural(warnings.length, 'remark')} on ${on}`),
      h('ul', null, warnings.map((w) => h('li', null, w))));

const compact = (v) => in_units(v, [[1, ''], [1e3, 'k'], [1e6, 'M'], [1e9, 'G']]).trim();

function predict_hero(report) {
  const {model, machine} = report;
  const size = `${compact(model.parameters)} parameters`;
  const kicker = `${model.name} · ${size} · ${count(machine.devices)} × ${machine.name}`;
  return h('header', {class: 'hero'}, h('p', {class: 'kicker'}, kicker),
    h('h1', null, report.answer.sentence), h('p', {class: 'culprit plan'}, report.answer.plan),
    predict_figures(report), remarks(report.warnings, 'this prediction'));
}

// The step from all of it down to what the matrix units do.
function step_fall(terms, step_ns) {
  const account = {priced: false};
  const row = (t) => ({
    label: t.label,
    name: t.name,
    what: t.formula || '',
    colour: step_terms[t.name] || 'other',
    ns: t.ns,
    share: t.share
  });
  const some = terms.filter((t) => t.ns !== 0).map(row);
  const kept = some.filter((t) => t.name === 'matmul');
  const rest = some.filter((t) => t.name !== 'matmul').sort((a, b) => b.ns - a.ns);
  const rows = rounded_together([...rest, ...kept]);
  const top = {
    label: 'the step',
    name: 'all',
    what: 'All of it.',
    colour: 'strong-rule',
    ns: step_ns,
    share: 1
  };
  let at = 1;
  return h('div', {class: 'fall', role: 'group', 'aria-label': 'The step from 100 % down'},
    fall_row(top, 0, false, account),
    rows.map((t) => fall_row(t, (at -= t.share), t.name === 'matmul', account)));
}

function predict_account(report) {
  return [
    step_fall(report.terms, report.step_time_ns),
    note(['MFU by convention: ',
      report.conventions.map((c) => `${c.name} ${percent(c.mfu)}`).join(' · '), '.'].join(''))
  ];
}

function memory_row({label, name, colour, value, from, what, shown}, full) {
  const place = {left: `${100 * from / full}%`, width: `${100 * value / full}%`};
  return h('div', {class: 'fall-row', 'data-memory': name,
    'data-tip': `${label}: ${bytes(value)}, ${shown}\n${what || ''}`},
  h('span', {class: 'what'}, label),
  h('span', {class: 'track', 'aria-hidden': 'true'},
    h('span', {class: 'fill', style: {...place, '--c': `var(--${colour})`}})),
  h('span', {class: 'percent'}, shown), h('span', {class: 'amount'}, bytes(value)));
}

function predict_memory(report) {
  const {memory} = report;
  const total = report.memory_bytes.total;
  const capacity = memory.capacity_bytes;
  const full = Math.max(total, capacity || 0);
  let at = 0;
  const parts = [];
  const add = (label, name, colour, value, what) => {
    parts.push({label, name, colour, value, from: at, what, share: value / full});
    at += value;
  };
  for (const [name, [label, colour]] of Object.entries(memory_terms)) {
    const value = report.memory_bytes[name];
    if (value > 0) add(label, name, colour, value, memory.formulas[name]);
  }
  if (known(capacity) && capacity > total) add('to spare', 'spare', 'rule', capacity - total);
  const rows = rounded_together(parts);
  if (known(capacity) && capacity < total)
    rows.push({
      label: 'more than there is',
      name: 'lacking',
      colour: 'alarm',
      value: total - capacity,
      from: capacity,
      shown: part(total - capacity, full)
    });
  const elsewhere = [['host memory', memory.host_bytes], ['NVMe', memory.nvme_bytes]]
      .filter(([, v]) => v > 0).map(([where, v]) => `${bytes(v)} in ${where}`);
  const fullest = `Pipeline device ${memory.peak_stage}, the fullest, at its fullest moment` +
      (known(capacity) ? `; a device has ${bytes(capacity)}.` : '.');
  return [h('div', {class: 'fall', role: 'group', 'aria-label': 'Memory of the fullest device'},
    rows.map((r) => memory_row(r, full))), note([fullest, ...elsewhere.map((e) => `${e}.`)].join(' '))];
}

function predict_comparison(report) {
  const rows = report.comparison;
  const capacity = report.memory.capacity_bytes;
  return data_table({
    label: 'Plans compared',
    rows,
    limit: 64,
    columns: [
      {label: 'Plan', value: (r) => r.label, text: true},
      {label: 'dp', value: (r) => r.plan.dp},
      {label: 'Step', value: (r) => r.step_time_ns, show: (r) => ns(r.step_time_ns), share: true},
      {label: 'MFU', value: (r) => r.mfu, show: (r) => percent(r.mfu)},
      {
        label: 'Memory',
        value: (r) => r.memory_bytes && r.memory_bytes.total,
        show: (r) => (r.memory_bytes ? bytes(r.memory_bytes.total) : none)
      },
      {
        label: 'In layers',
        value: (r) => r.communication_bytes,
        show: (r) => bytes(r.communication_bytes),
        tip: 'Communicated by a device in a step, whole buffers'
      },
      {
        label: 'To data-parallel ranks',
        value: (r) => r.data_bytes,
        show: (r) => bytes(r.data_bytes),
        tip: 'Sent by the busiest device in a step'
      },
      {
        label: 'Fits',
        value: (r) => r.error ||
            (!known(capacity) ? '' : r.memory_bytes.total > capacity ? 'no' : 'yes'),
        text: true
      }
    ]
  });
}

function predict_operations(report) {
  const both = (a, b) => (r) => r[a] + r[b];
  const quantity = (label, value, show, tip) => ({label, value, show: (r) => show(value(r)), tip});
  return data_table({
    label: 'Operations',
    rows: report.layers,
    limit: 40,
    filter: 'operation, class',
    columns: [
      {label: 'Operation', value: (r) => `${r.part}: ${r.name}`, text: true},
      {
        label: 'Class',
        value: (r) => r.class,
        text: true,
        show: (r) => h('span', {class: 'chip'}, swatch(class_colours[r.class]), r.class)
      },
      {label: '×', value: (r) => r.count, tip: 'Layers that have it'},
      quantity('Matrix FLOPs', both('flops_fwd', 'flops_bwd'), some_flops, 'Forward and backward'),
      quantity('Vector FLOPs', both('vector_flops_fwd', 'vector_flops_bwd'), some_flops),
      quantity('Memory', both('mem_fwd_bytes', 'mem_bwd_bytes'), bytes, 'Read and written'),
      quantity('Kept', (r) => r.kept_bytes, bytes, 'From forward to backward'),
      quantity('Weights', (r) => r.parameters, compact),
      quantity('Sent', both('comm_fwd_bytes', 'comm_bwd_bytes'), bytes),
      quantity('Communication', both('t_comm_fwd_ns', 't_comm_bwd_ns'), ns, 'Alone'),
      quantity('FLOP/B', (r) => r.intensity, number),
      {
        label: 'Time of all',
        value: (r) => r.count * (r.t_fwd_ns + r.t_bwd_ns),
        show: (r) => ns(r.count * (r.t_fwd_ns + r.t_bwd_ns)),
        share: true,
        hue: (r) => class_colours[r.class],
        tip: 'Forward and backward of one micro-batch, in all layers'
      }
    ]
  });
}
const some_flops = (v) => (v > 0 ? flops(v) : none);

function predict_formulas(report) {
  const terms = report.terms.filter((t) => t.formula && t.ns !== 0);
  const parts = Object.entries(report.memory.formulas)
      .filter(([name, text]) => text && report.memory_bytes[name] > 0);
  return h('dl', {class: 'formulas'}, terms.map((t) => [h('dt', null, t.label),
    h('dd', null, h('code', null, t.formula))]),
  parts.map(([name, text]) => [h('dt', null, `memory: ${memory_terms[name][0]}`),
    h('dd', null, h('code', null, text))]));
}

const predict_sections = (report) => [
  ['account', 'Where the step goes', null, predict_account],
  ['memory', 'Memory of a device', null, predict_memory],
  report.comparison.length > 0 && ['comparison', 'Plans compared', null, predict_comparison],
  [
    'roofline', 'Roofline',
    'Every operation of one micro-batch, forward and backward: what it reaches, against what the ' +
        'arithmetic and the memory of a device allow. Areas are shares of the time.',
    predict_roofline
  ],
  ['operations', 'Operations', 'One micro-batch on one device.', predict_operations],
  ['formulas', 'Formulas', 'Each figure with the values in it.', predict_formulas]
].filter(Boolean);
