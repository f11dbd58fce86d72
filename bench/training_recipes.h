// SPDX-License-Identifier: Apache-2.0
// Settings that a published row leaves out and that its source states elsewhere: in the recipe of
// the same release, model, GPU, format and degrees.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "stepscope/cost/plan/training_plan.h"

namespace stepscope::bench {

struct RecipeSettings {
  CudaGraphs cuda_graphs = CudaGraphs::none;
  RecomputeModules recompute{};
  bool grouped_experts = false;  // Transformer Engine's fused grouped MLP
};

// What a row says of itself. All words in lower case.
struct RecipeQuery {
  std::string_view framework;  // with its release: "megatron-bridge 26.08"
  std::string_view model;
  std::string_view gpu;
  std::string_view precision;
};

// Absent if no recipe has these words and the plan's tp, pp, virtual stages and ep.
[[nodiscard]] std::optional<RecipeSettings> recipe_settings(const RecipeQuery& row,
                                                            const Plan& plan);

// A model that MaxText's tables name by its size alone ("22B model"), with the settings of its
// script.
struct MaxTextModel {
  std::string_view name;
  std::string_view tpu;  // at the start of the GPU's name
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;  // of 128, each with its own keys and values
  std::int64_t feed_forward = 0;
  std::int64_t sequences = 0;  // of a chip
  std::int64_t tp = 1;
  Recompute recompute = Recompute::none;
  bool offloads = false;
};
// Null if no script has these words. Both in lower case.
[[nodiscard]] const MaxTextModel* maxtext_model(std::string_view model, std::string_view gpu);

// Chips of a slice in "2x v5p-128", whose number counts cores; absent if `interconnect` (in lower
// case) names none.
[[nodiscard]] std::optional<std::int64_t> slice_chips(std::string_view interconnect);

}  // namespace stepscope::bench
