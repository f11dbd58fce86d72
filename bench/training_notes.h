// SPDX-License-Identifier: Apache-2.0
// What a published training row says in words: the architecture behind its model's name, and the
// settings of its run in its notes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stepscope/cost/model/transformer.h"
#include "stepscope/cost/plan/training_plan.h"

namespace stepscope::bench {

// The catalogue's model whose name the row's name holds ("Qwen3_30B_a3B (tokendrop)"), if the row's
// sizes agree with it; null without such a model. Sizes that the row does not state are 0; without
// `layers` and `hidden` the name must begin with the catalogue's, as a whole.
[[nodiscard]] const Transformer* published_architecture(std::string_view name, std::int64_t layers,
                                                        std::int64_t hidden);

// A model of the catalogue, cut to the first `layers` layers of a run ("DeepSeek-V4-Flash (16
// layers)"), with the row's hidden size; absent without such a model. `notes` in lower case may
// state the tokens of a compressed key by number of layers ("cr pattern 0 x3, 4 x6, 128 x7"; absent
// if they do not agree).
[[nodiscard]] std::optional<Transformer> cut_architecture(std::string_view name,
                                                          std::int64_t layers, std::int64_t hidden,
                                                          std::string_view notes);

// Settings that notes state, by the words of Megatron-Bridge's recipes and of MLPerf submissions.
struct StatedSettings {
  std::optional<CudaGraphs> cuda_graphs;
  std::optional<std::int64_t> expert_tp;
  std::optional<bool> overlap_expert;
  std::optional<ExpertDispatch> dispatch;
  std::optional<std::int64_t> bucket;  // elements of a gradient bucket
  bool predicts = false;               // trains modules of multi-token prediction
  bool narrow_attention = false;       // in fp8
  bool narrow_head = false;            // in the format of the layers
  bool drops_tokens = false;           // experts have a capacity
  bool narrow_parameters = false;      // weights are held and gathered in fp8
  std::optional<bool> half_moments;    // AdamW's states have 16 bits each
  bool grouped_experts = false;        // a fused kernel multiplies all experts of a device
  bool memory_in_gib = false;          // the peak is given in GiB (2^30 bytes)
  std::optional<bool> half_gradients;  // gradients are summed and reduced in 16 bits
  std::optional<bool> overlap_tensor;
  std::optional<bool> overlap_gradients;
  std::optional<bool> overlap_parameters;
};
// `text` in lower case.
[[nodiscard]] StatedSettings stated_settings(std::string_view text);

// "selective (moe_act, layernorm)": the modules by Megatron's names; absent if a word is not known.
[[nodiscard]] std::optional<RecomputeModules> stated_modules(std::string_view text);

}  // namespace stepscope::bench
