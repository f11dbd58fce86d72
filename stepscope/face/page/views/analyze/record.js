// SPDX-License-Identifier: Apache-2.0
// How to record the data that a section lacks.

// By section.
export const record = {
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
