// SPDX-License-Identifier: Apache-2.0
// A job's program for simulators whose ranks do one thing at a time: one core, one queue of kernels
// and one of communication. Each takes the free node with the smallest number (ASTRA-sim).
//
// Nodes are numbered in the order of the recording. Hosts that ran at the same time, and kernels,
// are cut where one of them begins or ends, and the pieces follow one another. What keeps no core
// (a launch on its way to the device) is time of the device before the kernel, as far as the device
// had nothing to do. The communication of all ranks has one order, that in which the last member
// came, so no two ranks wait for each other in different groups: a collective or a send is free
// when those before it are. A replay of the result without limits takes as long as that of the
// program.
#pragma once

#include "stepscope/write/job_program.h"

namespace stepscope {

struct QueueOptions {
  // Communication takes what it took in the recording, waiting for others included: for a replay in
  // which ranks do not meet.
  bool recorded_times = false;
};

// The program itself if something in it waits for what never comes.
[[nodiscard]] JobProgram in_queues(const JobProgram& program, const QueueOptions& options = {});

}  // namespace stepscope
