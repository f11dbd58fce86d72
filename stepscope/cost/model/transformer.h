// SPDX-License-Identifier: Apache-2.0
// What a transformer is made of, as far as it costs anything: the one description that FLOPs,
// bytes, parameters, memory and communication are counted from. Read from our own JSON
// (model_json.h) or a Hugging Face config.json (hugging_face.h). Sizes count elements of the whole
// model, not of a rank.
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
// Both latents have an RMS norm. `head_size` of the model is rope + nope then.
struct LatentAttention {
  std::int64_t query_rank = 0;  // 0: queries are projected in one matmul
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
  std::int64_t first_dense_layers = 0;       // these keep the dense feed-forward
  std::int64_t every = 1;                    // of the others, each every-th has experts
  std::vector<std::int64_t> dense_layers{};  // these never have (Qwen: mlp_only_layers), from 0
  bool shared_gate = false;  // the shared experts' output is gated: hidden -> 1 (Qwen)
  bool router_bias = false;  // one number an expert beside the router (DeepSeek-V3)
  // Room of an expert = factor * tokens * top_k / count, the rest dropped; absent: dropless.
  std::optional<double> capacity_factor{};
};

// A vision transformer's input: images cut into square patches, one linear projection each.
struct Patches {
  std::int64_t image = 0;  // pixels of a side
  std::int64_t patch = 0;  // pixels of a side
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
  bool head_transform = false;  // a dense layer and a norm before the head (BERT)
  bool pooler = false;       // a dense layer on the first token (BERT), of no cost worth counting
  bool head = true;          // projects onto the vocabulary (or `classes`) and has a loss
  std::int64_t classes = 0;  // > 0: the head projects onto classes instead (vision)
  std::int64_t token_types = 0;  // rows of a segment table (BERT)
  double dropout = 0;  // > 0: masks are drawn and kept (attention, and both residual branches)
  double activation_dropout = 0;  // the same between the feed-forward's linear layers (T5)
  bool causal = true;
  std::optional<std::int64_t> window{};  // a token sees this many before it (itself included)
  std::int64_t window_every = 1;         // of layers, from the first: 1 = all have the window, ...
  std::optional<LatentAttention> latent{};
  std::optional<Experts> experts{};
  std::optional<Patches> patches{};
  std::string source{};              // where the figures are from
  std::vector<std::string> notes{};  // what a reader left out of a model it could read
};

// Tokens of one image: patches and the class token.
[[nodiscard]] constexpr std::int64_t image_tokens(const Patches& p) {
  return (p.image / p.patch) * (p.image / p.patch) + (p.class_token ? 1 : 0);
}

// Whether the feed-forward part of this layer (from 0) is a mixture of experts.
[[nodiscard]] inline bool has_experts(const Transformer& m, std::int64_t layer) {
  if (!m.experts || layer < m.experts->first_dense_layers) return false;
  const auto& dense = m.experts->dense_layers;
  if (std::find(dense.begin(), dense.end(), layer) != dense.end()) return false;
  return (layer - m.experts->first_dense_layers + 1) % m.experts->every == 0;
}

// Whether a token of this layer (from 0) sees a window only.
[[nodiscard]] constexpr bool has_window(const Transformer& m, std::int64_t layer) {
  return m.window.has_value() && layer % m.window_every == 0;
}

// What is wrong with the sizes (out of range, not divisible, contradicting), with the numbers. A
// model that passes has a parameter count that fits 64 bits.
[[nodiscard]] Result<Done> check_model(const Transformer& model);

}  // namespace stepscope
