// SPDX-License-Identifier: Apache-2.0
// The labels of the data's keys and their meanings. They are defined only here. A group holds the
// keys of one object or enumeration of the data (docs/reference/json.md); its order is the order of
// legends.

import {plain} from './format/names.js';

const budget = {
  compute: {
    label: 'compute',
    short: 'compute',
    what: 'A compute kernel runs, no communication does.'
  },
  comm_overlapped: {
    label: 'communication, hidden',
    short: 'hidden comm.',
    what: 'Communication runs behind compute.'
  },
  comm_exposed_transfer: {
    label: 'communication, transferring',
    short: 'transferring',
    what: 'Only communication runs, and its peers are there: bytes move.'
  },
  comm_exposed_wait: {
    label: 'waiting for a peer',
    short: 'waiting',
    what: 'Only communication runs, and a peer has not arrived.'
  },
  comm_exposed_unsplit: {
    label: 'communication, wait or transfer',
    short: 'comm.',
    what: 'Only communication runs; the traces cannot tell waiting from transferring.'
  },
  copy_exposed: {label: 'copies', short: 'copies', what: 'Only memory copies run.'},
  idle_host: {
    label: 'idle: host',
    short: 'host',
    what: 'Nothing runs: the host prepares work.'
  },
  idle_data: {
    label: 'idle: data',
    short: 'data',
    what: 'Nothing runs: the host loads data.'
  },
  idle_sync: {
    label: 'idle: sync',
    short: 'sync',
    what: 'Nothing runs: the host blocks in a synchronisation.'
  },
  idle_launch: {
    label: 'idle: launch',
    short: 'launch',
    what: 'Nothing runs: from the launch call until the kernel starts.'
  },
  idle_dependency: {
    label: 'idle: dependency',
    short: 'dependency',
    what: 'Nothing runs: the stream waits for another stream.'
  },
  idle_unexplained: {
    label: 'idle: unexplained',
    short: 'unexplained',
    what: 'Nothing runs, and the trace does not say why.'
  }
};

const {idle_host, idle_data, idle_sync, idle_launch, idle_dependency, idle_unexplained} = budget;
const mfu = {
  mfu: {label: 'model FLOPs (MFU)', what: 'The share of the peak that becomes model FLOPs.'},
  recompute: {label: 'recomputation', what: 'Forward work done a second time to save memory.'},
  kernel_inefficiency: {
    label: 'matmul and attention below peak',
    what: 'Time that matmuls and attention lose against the peak.'
  },
  memory_bound_compute: {
    label: 'memory-bound kernels',
    what: 'Kernels that the memory binds, not the arithmetic.'
  },
  compute_unattributed: {
    label: 'compute, not attributed',
    what: 'Compute time; without model FLOPs or shapes it cannot be split further.'
  },
  exposed_transfer: budget.comm_exposed_transfer,
  exposed_wait: budget.comm_exposed_wait,
  exposed_comm_unsplit: budget.comm_exposed_unsplit,
  exposed_copy: budget.copy_exposed,
  pipeline_bubble: {label: 'pipeline bubble', what: 'Idle because the pipeline fills or drains.'},
  idle_host, idle_data, idle_sync, idle_launch, idle_dependency, idle_unexplained
};

const terms = {
  budget,
  mfu,
  kernel_class: {
    matmul: {label: 'matmul'},
    attention: {label: 'attention'},
    norm: {label: 'norm'},
    elementwise: {label: 'elementwise'},
    optimizer: {label: 'optimizer'},
    embedding: {label: 'embedding'},
    loss: {label: 'loss'},
    communication: {label: 'communication'},
    copy: {label: 'copy'},
    other: {label: 'other'}
  },
  step_class: {
    tensor_comm: {label: 'tensor-parallel communication'},
    context_comm: {label: 'context-parallel communication'},
    expert_comm: {label: 'expert-parallel communication'},
    pipeline_comm: {label: 'communication between stages'},
    data_comm: {label: 'data-parallel communication'},
    other_comm: {label: 'communication of unknown groups'},
    bubble: {label: 'pipeline bubble'},
    wait: {label: 'waiting for late ranks'},
    copy: {label: 'copies'},
    host: {label: 'idle device'}
  },
  confidence: {
    high: {label: 'by replay'},
    medium: {label: 'at most'},
    low: {label: 'at most, roughly'}
  },
  bubble: {
    fill_ns: {label: 'fill'},
    work_ns: {label: 'work'},
    between_ns: {label: 'between its passes'},
    drain_ns: {label: 'drain'}
  },
  schedule: {
    gpipe: {label: 'GPipe'},
    '1f1b': {label: '1F1B'},
    interleaved: {label: 'interleaved'}
  },
  placement: {
    one_host: {label: 'within one host'},
    several_hosts: {label: 'across hosts'}
  },
  dtype: {
    'c10::BFloat16': {label: 'bf16'},
    'c10::Half': {label: 'fp16'},
    float: {label: 'fp32'},
    double: {label: 'fp64'},
    int: {label: 'int32'},
    'long int': {label: 'int64'},
    long: {label: 'int64'},
    bool: {label: 'bool'},
    'c10::Float8_e4m3fn': {label: 'fp8 e4m3'},
    'c10::Float8_e5m2': {label: 'fp8 e5m2'}
  },
  predicted_memory: {
    parameters: {label: 'parameters'},
    gathered: {label: 'gathered units'},
    gradients: {label: 'gradients'},
    buckets: {label: 'gradient buckets'},
    master: {label: 'master weights'},
    optimizer: {label: 'optimizer states'},
    activations: {label: 'activations kept'},
    workspace: {label: 'workspace'},
    logits: {label: 'logits'}
  },
  allocator: {
    reserved_bytes: {label: 'Reserved from the device'},
    requested_bytes: {label: 'Requested'},
    rounding_bytes: {label: 'Rounding'},
    stranded_bytes: {label: 'Stranded between blocks'},
    cached_bytes: {label: 'Cached, can go back'},
    largest_free_bytes: {label: 'Largest free block'},
    pending_bytes: {label: 'Waiting for another stream'}
  },
  phase_kind: {
    work: {label: 'computes or runs the model'},
    submit: {label: 'gives work to the device'},
    communication: {label: 'communication'},
    wait: {label: 'waits'},
    memory: {label: 'memory and copies'},
    data: {label: 'loads data'},
    io: {label: 'files and logs'},
    overhead: {label: 'overhead'},
    idle: {label: 'idle'},
    hidden: {label: 'not in the excerpt'}
  }
};

export const keys_of = (group) => Object.keys(terms[group]);
export const is_term = (group, key) => Object.hasOwn(terms[group], key);
// {label, short?, what?} of a key. For a key that the group lacks, the key's own words are the
// label.
export const term = (group, key) =>
    (is_term(group, key) ? terms[group][key] : {label: plain(key), what: ''});
export const label_of = (group, key) => term(group, key).label;
