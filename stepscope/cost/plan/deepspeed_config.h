// SPDX-License-Identifier: Apache-2.0
// Reads a DeepSpeed ds_config.json as a Plan. A key that changes the cost is understood, or it is
// an error that names the key. "auto" is a value that the Trainer of transformers puts there from
// its own arguments (transformers/integrations/deepspeed.py, trainer_config_process and _finalize):
// the batch and the number format are given with the file, buckets follow from the hidden size. At
// other keys it is an error. Source of keys and defaults: deepspeed/runtime/config.py,
// zero/config.py, zero/offload_config.py at edaa722 (2026-08).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/cost/model/transformer.h"
#include "stepscope/cost/plan/training_plan.h"

namespace stepscope {

// Facts that the file lacks: they are in the launcher and in the training script.
struct DeepSpeedRun {
  std::int64_t devices = 1;
  std::int64_t tp = 1;  // at least the file's tensor_parallel.autotp_size
  std::int64_t pp = 1;
  std::int64_t ep = 1;
  std::int64_t sequence = 2048;
  Recompute recompute = Recompute::none;
  // For "auto". Absent: what the other two leave, one sequence a pass, one pass a step, bf16; then
  // a note says so.
  std::optional<std::int64_t> micro_batch{};
  std::optional<std::int64_t> global_batch{};
  std::optional<Dtype> dtype{};
};

struct DeepSpeedPlan {
  Plan plan;
  std::vector<std::string> notes;  // assumptions, and keys outside the model
};

// Bucket sizes count elements in the file; here they are bytes of the gradients' type. The prefetch
// bucket of ZeRO-3 becomes whole layers of `model` (1 if it is smaller than one). ZeRO-2 and 3
// reduce gradients after every micro-batch. Errors name `path`, line, column and key.
[[nodiscard]] Result<DeepSpeedPlan> parse_deepspeed(std::string_view json, std::string_view path,
                                                    const DeepSpeedRun& run,
                                                    const Transformer& model);
[[nodiscard]] Result<DeepSpeedPlan> read_deepspeed(const std::string& path, const DeepSpeedRun& run,
                                                   const Transformer& model);

}  // namespace stepscope
