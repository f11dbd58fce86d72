// SPDX-License-Identifier: Apache-2.0
// TERMS

import {plain} from './format/names.js';

export const categories = [
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

export function term_of(name) {
  if (mfu_terms[name]) {
    const [label, hue, what, pattern] = mfu_terms[name];
    return {label, colour: hue, what, pattern};
  }
  const c = category_of.get(name);
  return c ? {label: c.label, colour: c.key, what: c.what, pattern: c.pattern} :
             {label: plain(name), colour: 'other', what: ''};
}

export const classes = [
  'matmul', 'attention', 'norm', 'elementwise', 'optimizer', 'embedding', 'loss', 'communication',
  'copy', 'other'
];

export const class_name = (c) => (typeof c === 'number' ? classes[c] || 'other' : c || 'other');

export const step_class_labels = {
  tensor_comm: 'tensor-parallel communication',
  context_comm: 'context-parallel communication',
  expert_comm: 'expert-parallel communication',
  pipeline_comm: 'communication between stages',
  data_comm: 'data-parallel communication',
  other_comm: 'communication of unknown groups',
  bubble: 'pipeline bubble',
  wait: 'waiting for late ranks',
  copy: 'copies',
  host: 'idle device'
};

export const phase_kind_words = {
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

export const memory_terms = {
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

export const schedule_words = {gpipe: 'GPipe', '1f1b': '1F1B', interleaved: 'interleaved'};
export const placement_words = {one_host: 'within one host', several_hosts: 'across hosts'};

export const gain_words = {
  high: 'by replay',
  medium: 'at most',
  low: 'at most, roughly'
};

export const device_words = (p) => (p.device === 'cpu' ? 'main thread' : 'device');

export const fragment_rows = [
  ['reserved_bytes', 'Reserved from the device'], ['requested_bytes', 'Requested'],
  ['rounding_bytes', 'Rounding'], ['stranded_bytes', 'Stranded between blocks'],
  ['cached_bytes', 'Cached, can go back'], ['largest_free_bytes', 'Largest free block'],
  ['pending_bytes', 'Waiting for another stream']
];

export const bubble_parts = [
  ['fill_ns', 'fill', 'idle_sync'], ['work_ns', 'work', 'compute'],
  ['between_ns', 'between its passes', 'comm_exposed_wait'],
  ['drain_ns', 'drain', 'idle_dependency']
];
