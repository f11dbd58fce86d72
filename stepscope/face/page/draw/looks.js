// SPDX-License-Identifier: Apache-2.0
// Colours by the data's keys, as names of the colour variables in page.css. A key without a colour
// of its own has the colour `other`.

import {is_term, keys_of, term} from '../terms.js';

// Light colours carry dark text. A pattern distinguishes categories with similar colours.
const budget_looks = {
  comm_overlapped: {light: true},
  comm_exposed_transfer: {light: true},
  comm_exposed_wait: {pattern: 'hatched'},
  comm_exposed_unsplit: {light: true, pattern: 'inked'},
  idle_sync: {light: true},
  idle_launch: {light: true},
  idle_dependency: {light: true, pattern: 'barred'},
  idle_unexplained: {light: true, pattern: 'dotted'},
  not_recorded: {light: true, pattern: 'hatched'}
};

// The budget's categories in order: {key, label, brief, explanation, light?, pattern?}.
export const categories = () => keys_of('budget').map(
    (key) => ({key, ...term('budget', key), ...budget_looks[key]}));

// Terms of the MFU account that are not categories of the budget.
const mfu_looks = {
  mfu: {colour: 'compute'},
  recompute: {colour: 'recompute'},
  beyond_model: {colour: 'recompute', pattern: 'hatched'},
  executed_at_peak: {colour: 'compute'},
  kernel_inefficiency: {colour: 'kernel_inefficiency'},
  memory_bound_compute: {colour: 'memory_bound'},
  compute_unattributed: {colour: 'compute', pattern: 'dotted'},
  exposed_transfer: {colour: 'comm_exposed_transfer'},
  exposed_wait: {colour: 'comm_exposed_wait', pattern: 'hatched'},
  exposed_comm_unsplit: {colour: 'comm_exposed_unsplit', pattern: 'inked'},
  exposed_copy: {colour: 'copy_exposed'},
  pipeline_bubble: {colour: 'optimizer'}
};

// A term of the MFU account or a category of the budget: {label, explanation, colour, pattern?}.
export function look_of_term(name) {
  const {label, explanation} = term(is_term('mfu', name) ? 'mfu' : 'budget', name);
  const colour = is_term('budget', name) ? name : 'other';
  return {label, explanation, colour, pattern: budget_looks[name]?.pattern, ...mfu_looks[name]};
}

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

export const phase_colours = {
  forward: 'compute',
  backward: 'attention',
  recompute: 'recompute',
  optimizer: 'optimizer',
  data: 'idle_data'
};

const path_colours = {
  host: 'idle_host',
  launch: 'idle_launch',
  sync: 'idle_sync',
  unexplained: 'idle_unexplained',
  held: 'idle_dependency',
  'not recorded': 'not_recorded',
  copy: 'copy_exposed'
};
export const path_colour = (what) => path_colours[what] ||
  (/all_|reduce|broadcast|send|recv|gather|scatter|barrier|communication/.test(what) ?
    'comm_exposed_transfer' : what);

const memory_use_colours = {
  parameters: 'compute',
  masters: 'copy_exposed',
  gradients: 'comm_exposed_transfer',
  optimizer: 'optimizer',
  activations: 'attention',
  casts: 'elementwise',
  temporary: 'idle_launch',
  older: 'idle_host',
  unknown: 'idle_unexplained'
};
export const memory_use_colour = (use) => memory_use_colours[use] || 'other';

// Colours of predictions and plans.
export const predicted_step_colours = {
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
export const predicted_memory_colours = {
  parameters: 'compute',
  gathered: 'comm_overlapped',
  gradients: 'recompute',
  buckets: 'comm_exposed_transfer',
  master: 'attention',
  optimizer: 'optimizer',
  activations: 'memory_bound',
  workspace: 'idle_sync',
  logits: 'loss'
};
export const operation_class_colours = {
  matmul: 'matmul',
  attention: 'attention',
  softmax: 'comm_exposed_transfer',
  norm: 'norm',
  pointwise: 'elementwise',
  embedding: 'embedding',
  loss: 'loss',
  scan: 'idle_sync'
};

export const bubble_colours = {
  fill_ns: 'idle_sync',
  work_ns: 'compute',
  between_ns: 'comm_exposed_wait',
  drain_ns: 'idle_dependency'
};

// Colours of host profiles: phases by kind, except stacks that no rule matches.
const phase_kind_colours = {
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
export const colour_of_phase = (p) => unruled[p.name] || phase_kind_colours[p.kind] || 'other';

const collective_looks = {
  all_reduce: {colour: 'compute', shape: 'circle'},
  all_gather: {colour: 'comm_exposed_transfer', shape: 'square'},
  reduce_scatter: {colour: 'comm_exposed_wait', shape: 'triangle'},
  all_to_all: {colour: 'copy_exposed', shape: 'diamond'},
  broadcast: {colour: 'idle_data', shape: 'cross'},
  send_recv: {colour: 'idle_dependency', shape: 'triangle'},
  reduce: {colour: 'idle_launch', shape: 'square'}
};
export const look_of_collective = (name) =>
    collective_looks[name] || {colour: 'idle_host', shape: 'circle'};
