// SPDX-License-Identifier: Apache-2.0
// What traces and logs do not show of a job: its device, its model and its plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/runs/rank_result.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/model_flops.h"
#include "stepscope/cost/model/transformer.h"
#include "stepscope/verbs/inputs/plan_settings.h"

namespace stepscope {

// As given; empty and 0: not given.
struct JobDescription {
  std::string machine{};     // a machine of the catalogue, or a file (data/machines/*.json)
  std::string peak_dtype{};  // bf16, fp16, fp8, tf32 or fp32: whose peak counts where the traces do
                             // not show the format
  double peak_tflops = 0;    // TFLOP/s of one device, instead of the machine's
  std::string model{};  // a model of the catalogue, a file of ours or a Hugging Face config.json
  std::int64_t global_batch = 0;  // sequences of one optimizer step
  std::int64_t sequence = 0;      // tokens of a sequence
  double model_flops_per_step =
      0;                     // FLOPs of one global batch without recomputation, instead of a model
  std::int64_t devices = 0;  // of the run; goes over what the input says
  double price_per_gpu_hour = 0;  // in any currency
  PlanSettings plan{};            // of the run; batch and sequence above count before its own
};

// As understood.
struct DescribedJob {
  std::optional<Machine> machine{};
  std::optional<int> domain{};  // devices that share the fast links, instead of the machine's
  std::optional<Dtype> dtype{};
  std::optional<FlopRate> peak{};
  std::optional<Transformer> model{};
  std::vector<ModelFlops> model_flops{};  // the convention of the stated MFU, then the others
  std::int64_t global_batch = 0;          // of the description, else of its plan file
  std::int64_t sequence = 0;              // of the description, else of its plan file, else of a
                                          // model of fixed length
  std::optional<int> devices{};
  std::optional<double> price{};
};

// Whether the settings say anything of a plan.
[[nodiscard]] bool gives_plan(const PlanSettings& plan);

// Reads what the description names. The error says which part is wrong, by the name of its flag.
[[nodiscard]] Result<DescribedJob> described_job(const JobDescription& given);

// The machine given, else what the catalogue knows of the ranks' GPU; absent where it knows none.
[[nodiscard]] std::optional<Machine> machine_of(const DescribedJob& job,
                                                std::span<const RankResult> ranks);

}  // namespace stepscope
