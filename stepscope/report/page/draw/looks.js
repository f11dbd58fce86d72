// SPDX-License-Identifier: Apache-2.0
// LOOKS

export const step_class_colours = {
  tensor_comm: 'comm_exposed_transfer',
  context_comm: 'comm_exposed_unsplit',
  expert_comm: 'idle_dependency',
  pipeline_comm: 'comm_overlapped',
  data_comm: 'comm_exposed_transfer',
  other_comm: 'comm_exposed_unsplit',
  bubble: 'idle_sync',
  wait: 'comm_exposed_wait',
  copy: 'copy_exposed',
  host: 'idle_host',
  pointwise: 'elementwise'
};

export const phase_hues = {
  forward: 'compute',
  backward: 'attention',
  recompute: 'recompute',
  optimizer: 'optimizer',
  data: 'idle_data',
  other: 'other'
};

const path_hues = {
  host: 'idle_host',
  launch: 'idle_launch',
  sync: 'idle_sync',
  unexplained: 'idle_unexplained',
  held: 'idle_dependency',
  'not recorded': 'idle_unexplained',
  copy: 'copy_exposed'
};

export const path_hue = (what) => path_hues[what] ||
  (/all_|reduce|broadcast|send|recv|gather|scatter|barrier|communication/.test(what) ?
    'comm_exposed_transfer' : what);

export const holdings = {
  parameters: 'compute',
  gradients: 'comm_exposed_transfer',
  optimizer: 'optimizer',
  activations: 'attention',
  temporary: 'idle_launch',
  unknown: 'idle_unexplained'
};

export const step_terms = {
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

export const class_colours = {
  matmul: 'matmul',
  attention: 'attention',
  softmax: 'comm_exposed_transfer',
  norm: 'norm',
  pointwise: 'elementwise',
  embedding: 'embedding',
  loss: 'loss'
};

export const host_hues = {
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

export const unruled = {python: 'other_python', native: 'other_native', unknown: 'other_native'};
export const light_kinds = new Set(['idle', 'overhead', 'hidden']);

const collective_looks = [
  ['all_reduce', 'compute', 'circle'], ['all_gather', 'comm_exposed_transfer', 'square'],
  ['reduce_scatter', 'comm_exposed_wait', 'triangle'], ['all_to_all', 'copy_exposed', 'diamond'],
  ['broadcast', 'idle_data', 'cross'], ['send_recv', 'idle_dependency', 'triangle'],
  ['reduce', 'idle_launch', 'square']
];

export const look_of = (name) =>
    collective_looks.find((l) => l[0] === name) || [name, 'idle_host', 'circle'];

export const use_order = ['parameters', 'optimizer', 'gradients', 'activations', 'temporary', 'unknown'];
export const use_hue = (use) => holdings[use] || 'other';
