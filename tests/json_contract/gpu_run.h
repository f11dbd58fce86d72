// SPDX-License-Identifier: Apache-2.0
// A small run of two GPU ranks in the profiler's format that fills every part of the answer:
// matmuls with shapes, alone and during communication; copies; waits between streams; collectives
// with a late rank; memory events; blocking calls; hardware counters.
#pragma once

#include <string>

namespace stepscope::contract {

// The trace of one rank.
[[nodiscard]] std::string gpu_rank(int rank);

// Logs of the GPU of rank 0, which is on node0, by nvidia-smi, and of that of rank 1 by
// dcgm-exporter. One row of the first cannot be used.
[[nodiscard]] std::string smi_log();
[[nodiscard]] std::string dcgm_log();

// The trace of one of two pipeline stages: a step of two micro-batches, forward and backward.
[[nodiscard]] std::string gpu_stage(int stage);

}  // namespace stepscope::contract
