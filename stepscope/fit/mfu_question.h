// SPDX-License-Identifier: Apache-2.0
// The inputs of the MFU budget: each rank's time and executed work, and the user's figures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/budget/time_budget.h"
#include "stepscope/base/quantity.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/model_flops.h"

namespace stepscope {

// Matrix products and attention of one dtype with FLOPs known from the trace. `busy` is the time in
// which at least one of them runs: a union over streams if the caller has it, else the sum of
// durations.
struct MatmulWork {
  Dtype dtype = Dtype::bf16;
  Flops flops{};
  Ns busy{};
  Flops recompute{};  // the part of `flops` that a checkpoint or a fused attention repeats
};

// The compute of one rank, summed over the steps of its budget.
struct ComputeWork {
  std::vector<MatmulWork> known;
  Ns unknown_busy{};             // matmul and attention kernels without known FLOPs
  Ns unclassed_busy{};           // kernels of unknown class
  std::optional<Ns> contention;  // of `known`: sum of (time under overlap − time alone)
};

struct MfuRank {
  int rank = 0;
  std::int64_t steps = 0;                   // number of steps in the sums below
  Budget budget;                            // their sum is the steps' wall time
  std::optional<ComputeWork> work;          // absent: the trace has no shapes
  std::optional<Ns> pipeline_receive_wait;  // the part of comm_exposed_wait that is a receive
                                            // between pipeline stages
};

struct MfuQuestion {
  int world_size = 0;
  std::optional<ModelFlops> model;  // of the global batch, without recompute
  std::vector<ModelFlops> other_conventions;
  std::string gpu_name;              // for messages; "cpu" for a trace without a device
  const Machine* machine = nullptr;  // null: not in the catalogue
  std::optional<FlopRate> peak;      // --peak-tflops: for every dtype, instead of the machine's
  std::optional<Dtype>
      dtype;  // of the peak if the trace shows none; else bf16, then fp16 if bf16 is unknown
  std::optional<double> price_per_gpu_hour;
  bool one_stage = false;  // the job is known to have no pipeline
};

}  // namespace stepscope
