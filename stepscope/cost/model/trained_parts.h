// SPDX-License-Identifier: Apache-2.0
// Which weights of a model are trained: all; all but frozen parts; or adapters of low rank next to
// frozen weights (LoRA: Hu et al. 2021). A frozen weight has no gradient and no optimizer state.
// Gradients of activations pass through frozen layers as far back as something is trained. The
// layers before that run forward only.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "stepscope/base/enum_names.h"
#include "stepscope/cost/model/transformer.h"

namespace stepscope {

// Linear layers that may have an adapter, by Megatron-LM's names where a matrix is one of several
// that Megatron-LM keeps together, else by Hugging Face's (peft's target_modules).
enum class LoraTarget : std::uint8_t {
  linear_qkv,  // queries, keys and values together: one adapter
  q_proj,
  k_proj,
  v_proj,
  o_proj,
  linear_fc1,  // gate and input together
  gate_proj,
  up_proj,
  down_proj,
  q_a_proj,  // latent attention; compressed attention, whose key is kv_a_proj_with_mqa
  q_b_proj,
  kv_a_proj_with_mqa,
  kv_b_proj,
  in_proj,  // linear attention, Mamba-2
  out_proj
};
inline constexpr auto lora_target_names = enum_names<LoraTarget::out_proj>;
// Megatron-LM's other names: "linear_proj" is o_proj. The same text for any other.
[[nodiscard]] std::string_view lora_target_name(std::string_view name);

enum class ModelPart : std::uint8_t { embedding, layers, head, tower };
inline constexpr auto model_part_names = enum_names<ModelPart::tower>;

template <class Enum>
struct NameSet {
  std::uint16_t bits = 0;

  [[nodiscard]] constexpr bool has(Enum e) const {
    return (bits >> static_cast<unsigned>(e) & 1U) != 0;
  }
  constexpr void add(Enum e) {
    bits = static_cast<std::uint16_t>(bits | 1U << static_cast<unsigned>(e));
  }
  bool operator==(const NameSet&) const = default;
};
using LoraTargets = NameSet<LoraTarget>;
using ModelParts = NameSet<ModelPart>;

struct TrainedParts {
  std::int64_t lora_rank = 0;      // above: all weights are frozen, and adapters of this rank train
  LoraTargets lora_targets{};      // none: every linear layer of mixers and feed-forward parts
  ModelParts frozen{};             // without adapters, which no part of the tower has
  std::int64_t frozen_layers = 0;  // the first layers, without weights or adapters that train

  bool operator==(const TrainedParts&) const = default;
};

[[nodiscard]] constexpr bool trains_all(const TrainedParts& t) { return t == TrainedParts{}; }
// Whether the weights of the part itself train (a layer's: layer_training).
[[nodiscard]] constexpr bool trains(const TrainedParts& t, ModelPart part) {
  return t.lora_rank == 0 && !t.frozen.has(part);
}

// weights: the layer's own; adapters: those next to frozen weights; passes: nothing, but an earlier
// part trains, so gradients pass through; forward_only: nothing here or before.
enum class LayerTraining : std::uint8_t { weights, adapters, passes, forward_only };
// `layer` counts from 0; layers beyond the last are those of prediction modules.
[[nodiscard]] LayerTraining layer_training(const TrainedParts& t, std::int64_t layer);
// False: the head has no gradient to pass on, because nothing before it trains.
[[nodiscard]] bool trains_before_head(const Transformer& m, const TrainedParts& t);

// A linear layer with an adapter: x (in -> rank -> out) added to x W. Sizes are of the whole model.
enum class AdapterColumns : std::uint8_t { all, queries, keys, values, half };
struct Adapter {
  std::string_view operation;  // of layer_operations
  AdapterColumns columns = AdapterColumns::all;
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::int64_t copies = 1;  // experts, each with an adapter of its own
  std::int64_t used = 1;    // copies that a token meets
};
// The adapters of a layer of this kind; empty if the model has no rank of adapters. In compressed
// attention the output projection of groups of heads has no adapter, nor have compressors and
// indexers.
[[nodiscard]] std::vector<Adapter> adapters_of(const Transformer& m, const LayerKind& kind,
                                               const TrainedParts& t);

// Elements of the whole model that train: weights, or adapters.
[[nodiscard]] std::int64_t trained_parameters(const Transformer& m, const TrainedParts& t);

// The linear layers of the model that may have an adapter.
[[nodiscard]] LoraTargets lora_targets_in(const Transformer& m);

}  // namespace stepscope
