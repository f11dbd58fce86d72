// SPDX-License-Identifier: Apache-2.0
// FLOPs of a transformer, forward and backward, without recompute, by the conventions in use. One
// run has a different MFU in each of them (docs/explanation/mfu.md), so a figure always names its
// convention. T = tokens, s = sequence, L layers, h hidden, a heads of size d (d + v: of a key and
// of a value), N parameters; for a mixture only those that a token uses.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "stepscope/base/quantity.h"
#include "stepscope/cost/model/formula.h"
#include "stepscope/cost/model/tower.h"
#include "stepscope/cost/model/trained_parts.h"
#include "stepscope/cost/model/transformer.h"

namespace stepscope {

enum class FlopsConvention : std::uint8_t {
  causal_halved,  // Megatron: matmuls and logits, and the part of attention that the mask leaves
  six_n,          // 6 N T: all parameters, no attention
  palm,           // PaLM appendix B: 6 N T + 6 L a (d + v) s T
  torchtitan,     // 6 (N - token table) T + 6 L a (d + v) s T
};
inline constexpr std::size_t flops_convention_count = 4;
// The first is that of every stated MFU.
inline constexpr std::array<std::string_view, flops_convention_count> flops_convention_names = {
    "causal attention halved", "6N", "PaLM", "torchtitan"};
static_assert(flops_convention_names[static_cast<std::size_t>(FlopsConvention::torchtitan)] ==
              "torchtitan");

// The convention's name for this model: without a causal mask nothing is halved.
[[nodiscard]] constexpr std::string_view convention_name(const Transformer& model,
                                                         FlopsConvention convention) {
  if (convention == FlopsConvention::causal_halved && !model.causal) return "no causal mask";
  return flops_convention_names[static_cast<std::size_t>(convention)];
}

// The convention's name if the user gives the FLOPs.
inline constexpr std::string_view flops_as_given = "model FLOPs as given";

// FLOPs of one step of the whole job and their convention.
struct ModelFlops {
  std::string convention;
  Flops per_step;
};

// Pairs of query and key that this layer's mask leaves in one sequence: s^2 / 2 for a causal mask
// (half of the diagonal, as in Megatron), w s - w^2 / 2 with a window w below s or w chosen keys of
// sparse attention, else s^2. Compressed attention has those of its window and k s - k^2 r / 2 of
// compressed keys, each for r tokens: k = s / r of them, or the top_k chosen if these are fewer
// (Megatron-Bridge's flop_utils, dsv4_hybrid). Linear attention and Mamba-2 have no pairs.
[[nodiscard]] double attention_pairs(const Transformer& model, std::int64_t layer,
                                     std::int64_t sequence);

// Weights that multiply one sequence, each times its tokens: layers, head and patches.
[[nodiscard]] double sequence_weights(const Transformer& m, std::int64_t sequence);
// FLOPs, forward and backward, of one query-key pair in all heads of a layer: 6 a (d + v). In a
// layer of other heads (heads_of) they are in proportion.
[[nodiscard]] double pair_flops(const Transformer& m);

// Forward FLOPs of one token in a layer that carries a state (docs/dev/layer-operations.md):
// linear attention with states of k x v in chunks of c, per value head 6 k v + 2 c (3 k + 2 v);
// Mamba-2 with states of p x n in chunks of c, per head 4 p n + 2 c p, per group 2 c n. Others: 0.
[[nodiscard]] double state_flops(const Transformer& m, const LayerKind& kind);
// Forward FLOPs of an indexer's scores of one sequence: 2 heads * size for each pair of the causal
// mask; with compressed attention a key for each sparse_ratio tokens. A layer without an indexer:
// 0.
[[nodiscard]] double index_flops(const Transformer& m, const LayerKind& kind,
                                 std::int64_t sequence);
[[nodiscard]] double attention_pairs(const Transformer& model, const LayerKind& kind,
                                     std::int64_t sequence);

// FLOPs of one sequence with its images; and of `sequences` as a formula. A tower counts by its
// patches in every convention, and its parameters not in N. With frozen parts or adapters a weight
// counts 2 forward, 2 more if gradients pass it, and 2 more if it is trained; adapters count as
// trained weights; attention counts its backward where gradients pass (Megatron-Bridge's count for
// LoRA: two thirds of the frozen weights' FLOPs, all of attention's).
[[nodiscard]] double sequence_flops(const Transformer& model, std::int64_t sequence,
                                    FlopsConvention convention, const TrainedParts& trained = {},
                                    const Images& images = {});
[[nodiscard]] Formula model_flops_formula(const Transformer& model, std::int64_t sequences,
                                          std::int64_t sequence, FlopsConvention convention,
                                          const TrainedParts& trained = {},
                                          const Images& images = {});

// FLOPs of a global batch of `tokens` in sequences of `sequence`. Heads onto classes and poolers
// process one token per sequence. Source: Megatron-LM's num_floating_point_operations; PaLM (arXiv
// 2204.02311) appendix B; torchtitan's get_nparams_and_flops.
[[nodiscard]] ModelFlops model_flops(const Transformer& model, std::int64_t tokens,
                                     std::int64_t sequence, FlopsConvention convention);

}  // namespace stepscope
