// SPDX-License-Identifier: Apache-2.0
// What the MFU budget is computed from: each rank's time and executed work, and the user's figures.
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

// Matrix products and attention of one dtype whose FLOPs the trace gives. `busy` is the time in
// which at least one of them runs (a union over streams where the caller has it, else the sum of
// durations).
struct MatmulWork {
  Dtype dtype = Dtype::bf16;
  Flops flops{};
  Ns busy{};
};

// What one rank computed, summed over the same steps as its budget.
struct ComputeWork {
  std::vector<MatmulWork> known;
  Ns unknown_busy{};             // matmul and attention kernels whose FLOPs the trace does not give
  std::optional<Ns> contention;  // of `known`: sum of time under overlap less time alone
};

struct MfuRank {
  int rank = 0;
  std::int64_t steps = 0;                   // how many the sums below hold
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
      dtype;  // of the peak, where the trace shows none; else bf16, where unknown fp16
  std::optional<double> price_per_gpu_hour;
  bool one_stage = false;  // the job is known to have no pipeline
};

}  // namespace stepscope
