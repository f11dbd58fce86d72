// SPDX-License-Identifier: Apache-2.0
// A plan as flags of the frameworks that can run it. Only the plan: the model, data and learning
// rate are the user's. Flags were checked against Megatron-LM d98e8a6 (2026-08,
// megatron/training/arguments.py and the configs it builds from), DeepSpeed edaa722 (2026-08) and
// torchtitan v0.2.2 (torchtitan/config/job_config.py; later versions are configured in Python by
// the same names).
#pragma once

#include <string>
#include <vector>

#include "stepscope/cost/model/transformer.h"
#include "stepscope/cost/plan/training_plan.h"

namespace stepscope {

struct FrameworkFlags {
  std::string framework;
  std::string text;  // ends with a line feed
  // Parts of the plan that these flags do not express, one sentence each. They are done in the
  // training script, done in another way, or not done.
  std::vector<std::string> not_expressed;
};

// The sentence of not_expressed for a plan with adapters or frozen parts.
[[nodiscard]] inline std::string trained_in_script(const TrainedParts& trained) {
  const std::string which = trained.lora_rank > 0 ? "lora_rank " + std::to_string(trained.lora_rank)
                                                  : std::string("frozen parts");
  return which + ": the training script freezes weights and adds adapters (peft, Megatron-Bridge)";
}

// All functions require a plan that passed check_plan.

// One flag per line, for pretrain_gpt.py.
[[nodiscard]] FrameworkFlags megatron_flags(const Transformer& model, const Plan& plan);
// A ds_config.json. If everything is expressed, parse_deepspeed reads it back as the same plan.
[[nodiscard]] FrameworkFlags deepspeed_flags(const Transformer& model, const Plan& plan);
// Sections of a torchtitan TOML file.
[[nodiscard]] FrameworkFlags torchtitan_flags(const Transformer& model, const Plan& plan);

}  // namespace stepscope
