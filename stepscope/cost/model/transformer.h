// SPDX-License-Identifier: Apache-2.0
// The parts of a transformer that cost anything. This one description is the basis of FLOPs, bytes,
// parameters, memory and communication. It is read from our own JSON (model_json.h) or a Hugging
// Face config.json (hugging_face.h). Sizes count elements of the whole model, not of a rank.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"

namespace stepscope {

enum class Activation : std::uint8_t { relu, gelu, silu };
inline constexpr std::array<std::string_view, 3> activation_names = {"relu", "gelu", "silu"};
static_assert(activation_names[static_cast<std::size_t>(Activation::silu)] == "silu");

enum class Norm : std::uint8_t { layer_norm, rms_norm };
inline constexpr std::array<std::string_view, 2> norm_names = {"layer_norm", "rms_norm"};
static_assert(norm_names[static_cast<std::size_t>(Norm::rms_norm)] == "rms_norm");

enum class Positions : std::uint8_t { none, learned, rotary, alibi };
inline constexpr std::array<std::string_view, 4> positions_names = {"none", "learned", "rotary",
                                                                    "alibi"};
static_assert(positions_names[static_cast<std::size_t>(Positions::alibi)] == "alibi");

// Multi-head latent attention (DeepSeek-V2): keys and values are rebuilt from a compressed latent.
// Both latents have an RMS norm. The model's `head_size` is then rope + nope.
struct LatentAttention {
  std::int64_t query_rank = 0;  // 0: queries are projected by one matmul
  std::int64_t kv_rank = 0;
  std::int64_t rope_head_size = 0;   // of a query and of the one shared key
  std::int64_t nope_head_size = 0;   // of a query and key, without position
  std::int64_t value_head_size = 0;  // of a value
};

// Mixture of experts in the feed-forward part.
struct Experts {
  std::int64_t count = 0;
  std::int64_t top_k = 0;
  std::int64_t feed_forward = 0;             // of one expert
  std::int64_t shared_feed_forward = 0;      // of all shared experts together; 0: none
  std::int64_t first_dense_layers = 0;       // these layers keep the dense feed-forward
  std::int64_t every = 1;                    // of the other layers, every n-th has experts
  std::vector<std::int64_t> dense_layers{};  // without experts (Qwen: mlp_only_layers), from 0
  bool shared_gate = false;  // the shared experts' output is gated: hidden -> 1 (Qwen)
  bool router_bias = false;  // one number per expert beside the router (DeepSeek-V3)
  // Capacity of an expert = factor * tokens * top_k / count; further tokens are dropped. Absent:
  // dropless.
  std::optional<double> capacity_factor{};
};

// A vision transformer's input: images divided into square patches, one linear projection each.
struct Patches {
  std::int64_t image = 0;  // pixels per side
  std::int64_t patch = 0;  // pixels per side
  std::int64_t channels = 3;
  bool class_token = true;
};

struct Transformer {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  // = heads: multi-head; 1: multi-query; between: grouped-query
  std::int64_t head_size = 0;
  std::int64_t feed_forward = 0;
  bool gated = false;  // three matrices of feed_forward (SwiGLU, GEGLU) instead of two
  Activation activation = Activation::gelu;
  Norm norm = Norm::layer_norm;
  bool norm_bias = true;             // of a layer norm
  bool parallel_block = false;       // attention and feed-forward read the same input (GPT-J, NeoX)
  std::int64_t norms_per_layer = 2;  // over `hidden`
  bool qk_norm = false;              // a norm over each head of queries and of keys
  bool embedding_norm = false;       // a norm right after the embedding (BLOOM, BERT)
  bool final_norm = true;
  Positions positions = Positions::learned;
  std::int64_t max_positions = 0;  // rows of the learned table
  bool qkv_bias = true;
  bool attention_output_bias = true;
  bool feed_forward_bias = true;
  bool head_bias = false;
  std::int64_t vocabulary = 0;  // rows of the embedding as published; 0: none (vision)
  bool tied_embeddings = false;
  bool head_transform = false;   // a dense layer and a norm before the head (BERT)
  bool pooler = false;           // a dense layer on the first token (BERT), of negligible cost
  bool head = true;              // projects onto the vocabulary (or `classes`) and has a loss
  std::int64_t classes = 0;      // > 0: the head projects onto classes instead (vision)
  std::int64_t token_types = 0;  // rows of a segment table (BERT)
  double dropout = 0;  // > 0: masks are drawn and kept (attention, and both residual branches)
  double activation_dropout = 0;  // the same between the feed-forward's linear layers (T5)
  bool causal = true;
  std::optional<std::int64_t> window{};  // a token sees this many tokens back, including itself
  std::int64_t window_every = 1;         // of layers, from the first: 1 = all have the window, ...
  std::optional<LatentAttention> latent{};
  std::optional<Experts> experts{};
  std::optional<Patches> patches{};
  std::string source{};              // source of the figures
  std::vector<std::string> notes{};  // parts of the model that a reader left out
};

// Tokens of one image: patches and the class token.
[[nodiscard]] constexpr std::int64_t image_tokens(const Patches& p) {
  return (p.image / p.patch) * (p.image / p.patch) + (p.class_token ? 1 : 0);
}

// True if the feed-forward part of this layer (from 0) is a mixture of experts.
[[nodiscard]] inline bool has_experts(const Transformer& m, std::int64_t layer) {
  if (!m.experts || layer < m.experts->first_dense_layers) return false;
  const auto& dense = m.experts->dense_layers;
  if (std::find(dense.begin(), dense.end(), layer) != dense.end()) return false;
  return (layer - m.experts->first_dense_layers + 1) % m.experts->every == 0;
}

// True if a token of this layer (from 0) sees only a window.
[[nodiscard]] constexpr bool has_window(const Transformer& m, std::int64_t layer) {
  return m.window.has_value() && layer % m.window_every == 0;
}

// Errors name the faults of the sizes (out of range, not divisible, contradicting), with the
// numbers. The parameter count of a model that passes fits 64 bits.
[[nodiscard]] Result<Done> check_model(const Transformer& model);

}  // namespace stepscope
