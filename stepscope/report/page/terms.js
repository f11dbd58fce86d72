// SPDX-License-Identifier: Apache-2.0
// The names that the data uses, as people read them, with colour and meaning. One place for budget
// and MFU terms.

const categories = [
  {
    key: 'compute',
    short: 'compute',
    label: 'compute',
    what: 'A compute kernel runs, no communication does.'
  },
  {
    key: 'comm_overlapped',
    short: 'hidden comm.',
    label: 'communication, hidden',
    what: 'Communication runs behind compute.',
    light: true
  },
  {
    key: 'comm_exposed_transfer',
    short: 'transferring',
    label: 'communication, transferring',
    what: 'Only communication runs, and its peers are there: bytes move.',
    light: true
  },
  {
    key: 'comm_exposed_wait',
    short: 'waiting',
    label: 'waiting for a peer',
    what: 'Only communication runs, and a peer has not arrived.',
    pattern: 'hatched'
  },
  {
    key: 'comm_exposed_unsplit',
    short: 'comm.',
    label: 'communication, wait or transfer',
    what: 'Only communication runs; the traces cannot tell waiting from transferring.',
    light: true,
    pattern: 'inked'
  },
  {key: 'copy_exposed', short: 'copies', label: 'copies', what: 'Only memory copies run.'},
  {
    key: 'idle_host',
    short: 'host',
    label: 'idle: host',
    what: 'Nothing runs: the host prepares work.'
  },
  {
    key: 'idle_data',
    short: 'data',
    label: 'idle: data',
    what: 'Nothing runs: the host loads data.'
  },
  {
    key: 'idle_sync',
    short: 'sync',
    label: 'idle: sync',
    what: 'Nothing runs: the host blocks in a synchronisation.',
    light: true
  },
  {
    key: 'idle_launch',
    short: 'launch',
    label: 'idle: launch',
    what: 'Nothing runs: from the launch call until the kernel starts.',
    light: true
  },
  {
    key: 'idle_dependency',
    short: 'dependency',
    label: 'idle: dependency',
    what: 'Nothing runs: the stream waits for another stream.',
    light: true,
    pattern: 'barred'
  },
  {
    key: 'idle_unexplained',
    short: 'unexplained',
    label: 'idle: unexplained',
    what: 'Nothing runs, and the trace does not say why.',
    pattern: 'dotted',
    light: true
  },
];
const category_of = new Map(categories.map((c) => [c.key, c]));

const mfu_terms = {
  mfu: ['model FLOPs (MFU)', 'compute', 'The share of the peak that becomes model FLOPs.'],
  recompute: ['recomputation', 'recompute', 'Forward work done a second time to save memory.'],
  kernel_inefficiency: [
    'matmul and attention below peak', 'kernel_inefficiency',
    'Time that matmuls and attention lose against the peak.'
  ],
  memory_bound_compute: [
    'memory-bound kernels', 'memory_bound', 'Kernels that the memory binds, not the arithmetic.'
  ],
  compute_unattributed: [
    'compute, not attributed', 'compute',
    'Compute time; without model FLOPs or shapes it cannot be split further.'
  ],
  exposed_transfer: [
    'communication, transferring', 'comm_exposed_transfer',
    category_of.get('comm_exposed_transfer').what
  ],
  exposed_wait: [
    'waiting for a peer', 'comm_exposed_wait', category_of.get('comm_exposed_wait').what, 'hatched'
  ],
  exposed_comm_unsplit: [
    'communication, wait or transfer', 'comm_exposed_unsplit',
    category_of.get('comm_exposed_unsplit').what, 'inked'
  ],
  exposed_copy: ['copies', 'copy_exposed', 'Only memory copies run.'],
  pipeline_bubble: ['pipeline bubble', 'optimizer', 'Idle because the pipeline fills or drains.'],
};
function term_of(name) {
  if (mfu_terms[name]) {
    const [label, hue, what, pattern] = mfu_terms[name];
    return {label, colour: hue, what, pattern};
  }
  const c = category_of.get(name);
  return c ? {label: c.label, colour: c.key, what: c.what, pattern: c.pattern} :
             {label: plain(name), colour: 'other', what: ''};
}

const classes = [
  'matmul', 'attention', 'norm', 'elementwise', 'optimizer', 'embedding', 'loss', 'communication',
  'copy', 'other'
];
const class_name = (c) => (typeof c === 'number' ? classes[c] || 'other' : c || 'other');

// A coloured square; `hue` is a colour variable's name.
const swatch = (hue, pattern) => h('span', {
  class: `swatch fill ${pattern || ''}`,
  style: {'--c': `var(--${hue})`},
  'aria-hidden': 'true'
});
const class_chip = (c) =>
    h('span', {class: 'chip'}, swatch(classes.includes(c) ? c : 'other'), plain(c));

// What to do so that the next recording has it.
const record = {
  steps: 'Call prof.step() once per training step (or name your own markers with ' +
      '--step-annotation) to see single steps.',
  memory: 'No memory events in these traces. Record with profile_memory=True.',
  shapes: 'No shapes, so no FLOP/s. Record with record_shapes=True.',
  ranges: 'No ranges. Wrap parts of the step in torch.profiler.record_function("name"), or ' +
      'record with with_stack=True to see time by module.',
  clocks: 'The clocks of these traces cannot be compared between ranks, so nobody knows who ' +
      'arrived when. Record all ranks over the same steps with a PyTorch of 2.1 or later.',
  ranks: 'One rank shows nothing about the others. Record every rank (each process its own ' +
      'file) and pass the directory.',
  model: 'Give --model-flops-per-step to see MFU: the share of the peak that becomes model FLOPs.',
};
