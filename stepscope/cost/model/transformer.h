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

#include "stepscope/base/enum_names.h"
#include "stepscope/base/result.h"

namespace stepscope {

enum class Activation : std::uint8_t { relu, gelu, silu };
inline constexpr auto activation_names = enum_names<Activation::silu>;

enum class Norm : std::uint8_t { layer_norm, rms_norm };
inline constexpr auto norm_names = enum_names<Norm::rms_norm>;

enum class Positions : std::uint8_t { none, learned, rotary, alibi };
inline constexpr auto positions_names = enum_names<Positions::alibi>;

// Multi-head latent attention (DeepSeek-V2): keys and values are rebuilt from a compressed latent.
// Both latents have an RMS norm. The model's `head_size` is then rope + nope.
struct LatentAttention {
  std::int64_t query_rank = 0;  // 0: queries are projected by one matmul
  std::int64_t kv_rank = 0;
  std::int64_t rope_head_size = 0;   // of a query and of the one shared key
  std::int64_t nope_head_size = 0;   // of a query and key, without position
  std::int64_t value_head_size = 0;  // of a value
};

// Attention over one key-value head whose keys beyond the window are compressed (DeepSeek-V4,
// DeepSeek-AI 2026 §2.3; Hugging Face transformers 5.24, deepseek_v4): queries pass through a
// latent, a key is also its value, each group of heads is projected to `output_rank` features
// before the groups are mixed into the stream. A compressed key is a sum of the keys of `ratio`
// tokens, weighted by a softmax of projected gates.
struct CompressedAttention {
  std::int64_t query_rank = 0;
  std::int64_t output_rank = 0;    // of a group
  std::int64_t output_groups = 0;  // of heads
  std::int64_t rope_head_size = 0;
  // Layers C: a query attends to the window and to the compressed keys that the indexer chooses.
  // Each is made from twice as many tokens as it stands for, by projections of twice the width.
  std::int64_t sparse_ratio = 4;
  // Layers H: a query attends to the window and to all compressed keys.
  std::int64_t dense_ratio = 128;
};

// Several parallel residual streams (manifold-constrained hyper-connections, arXiv 2512.24880):
// each part of a layer reads a weighted sum of the streams, and its output is added to all of them
// after they are mixed. The weights of a token are projected from all its streams; the matrix that
// mixes them becomes doubly stochastic in `iterations` of Sinkhorn and Knopp.
struct HyperConnections {
  std::int64_t streams = 0;
  std::int64_t iterations = 20;
};

// Attention to the top_k keys that a light scoring of all keys chooses (DeepSeek's sparse
// attention). Indexer: one key of `head_size` per token, queries and weights of `heads`. Its
// queries are made from the query latent if the model has one, else from the stream. With
// compressed attention it scores compressed keys of its own.
struct Indexer {
  std::int64_t heads = 0;
  std::int64_t head_size = 0;
  std::int64_t top_k = 0;  // keys
};

// Linear attention with the delta rule (gated delta net, Kimi delta attention): each value head
// carries a state of key_size x value_size from token to token, computed in chunks.
struct LinearAttention {
  std::int64_t key_heads = 0;
  std::int64_t value_heads = 0;
  std::int64_t key_size = 0;
  std::int64_t value_size = 0;
  std::int64_t convolution = 4;  // tokens under the short convolution of queries, keys and values
  std::int64_t chunk = 64;       // tokens that are computed together
  // 0: one decay per value head, and an output gate of full rank (Qwen 3.5). Above: a decay per key
  // feature and the output gate, both through this rank (Kimi).
  std::int64_t gate_rank = 0;
};

// Mamba-2: each head of `head_size` carries a state of head_size x state from token to token.
struct StateSpace {
  std::int64_t heads = 0;
  std::int64_t head_size = 0;
  std::int64_t state = 0;
  std::int64_t groups = 1;  // of heads with the same B and C
  std::int64_t convolution = 4;
  std::int64_t chunk = 256;
};

// Modules that predict further tokens (multi-token prediction): each joins the stream with the next
// token's embedding (2 hidden -> hidden), runs its layers and has the model's head and loss.
struct TokenPrediction {
  std::int64_t modules = 0;
  std::string layers{};     // letters as in Transformer::pattern; empty: one like the model's last
  bool one_module = false;  // all share the parameters of one
};

// How the tokens of a layer meet, and what follows in the layer.
enum class Mixer : std::uint8_t { whole, window, sparse, compressed, linear, state_space, none };
enum class Channel : std::uint8_t { dense, experts, none };
struct LayerKind {
  Mixer mixer = Mixer::whole;
  Channel channel = Channel::dense;
  // sparse: has an indexer; without one the last indexer's choice is used. compressed: chooses.
  bool indexes = false;
  bool hashed = false;  // experts: the token's id chooses

  bool operator==(const LayerKind&) const = default;
};
inline constexpr std::string_view pattern_letters = "FWLSsCH*ME-";

// Mixture of experts in the feed-forward part.
struct Experts {
  std::int64_t count = 0;
  std::int64_t top_k = 0;
  std::int64_t feed_forward = 0;  // of one expert
  std::int64_t latent = 0;  // experts work in a stream of this width, projected from and to hidden;
                            // 0: in hidden
  std::int64_t shared_feed_forward = 0;  // of all shared experts together; 0: none
  // Routing by groups (DeepSeek-V3): the experts are in `groups`, and a token chooses from
  // `top_groups` of them. 0: from all.
  std::int64_t groups = 0;
  std::int64_t top_groups = 0;
  std::int64_t first_dense_layers = 0;       // these layers keep the dense feed-forward
  std::int64_t every = 1;                    // of the other layers, every n-th has experts
  std::vector<std::int64_t> dense_layers{};  // without experts (Qwen: mlp_only_layers), from 0
  // The token's id chooses the experts of the first layers from a table, which is no parameter. The
  // router only weights them, and has no bias there (DeepSeek-V4).
  std::int64_t hash_layers = 0;
  bool shared_gate = false;  // the shared experts' output is gated: hidden -> 1 (Qwen)
  bool router_bias = false;  // one number per expert next to the router (DeepSeek-V3)
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

// An encoder of images before the embedding: a vision transformer with layer norms, biases and
// GELU, in whose layers a patch sees all patches of its image (Qwen 3-VL). A merger of two linear
// layers makes each merge x merge patches one of the model's tokens.
struct Tower {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t feed_forward = 0;
  std::int64_t patch = 0;  // pixels per side
  std::int64_t channels = 3;
  std::int64_t frames = 1;     // of a video that a patch spans; an image is repeated
  std::int64_t merge = 1;      // patches per side of a token
  std::int64_t positions = 0;  // rows of a learned table
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
  bool attention_gate = false;   // attention's output is gated: hidden -> heads * size of a value
  bool head_gate = false;        // by one number for each head: hidden -> heads (Step-3.5)
  bool attention_sinks = false;  // one learned score per head in addition to the keys' (gpt-oss)
  bool embedding_norm = false;   // a norm right after the embedding (BLOOM, BERT)
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
  std::int64_t window_heads = 0;         // of layers with the window (Step-3.5); 0: as the others
  // One letter per layer. Empty: attention, with windows as `window_every` says, and feed-forward
  // or experts. F: attention to the whole sequence; W: in the window; S: sparse, with an indexer;
  // s: sparse, with the choice of the last indexer; C, H: compressed, with an indexer or to all
  // compressed keys; L: linear attention; each with a feed-forward part or experts, as `experts`
  // says. Layers of one part (Nemotron-H): *: attention; M: Mamba-2; E: experts; -: dense
  // feed-forward.
  std::string pattern{};
  std::optional<LatentAttention> latent{};
  std::optional<CompressedAttention> compressed{};
  std::optional<HyperConnections> hyper{};
  std::optional<Indexer> indexer{};
  std::optional<LinearAttention> linear{};
  std::optional<StateSpace> state_space{};
  std::optional<TokenPrediction> prediction{};
  std::optional<Experts> experts{};
  std::optional<Patches> patches{};
  std::optional<Tower> tower{};
  std::string source{};              // source of the figures
  std::vector<std::string> notes{};  // parts of the model that a reader left out
};

// The number of `parts` of the experts (equal, side by side) in which a token's top_k experts lie,
// expected over uniform choices; at most the parts of its top_groups.
[[nodiscard]] double parts_chosen(const Experts& e, std::int64_t parts);

// Tokens of one image: patches and the class token.
[[nodiscard]] constexpr std::int64_t image_tokens(const Patches& p) {
  return (p.image / p.patch) * (p.image / p.patch) + (p.class_token ? 1 : 0);
}

// The kind that a letter of a pattern names. `experts`: the feed-forward part that follows a mixer
// is a mixture of experts.
[[nodiscard]] LayerKind letter_kind(char letter, bool experts);
// `layer` counts from 0.
[[nodiscard]] LayerKind layer_kind(const Transformer& m, std::int64_t layer);
// The kinds of the layers of a prediction module, in order.
[[nodiscard]] std::vector<LayerKind> prediction_kinds(const Transformer& m);

// True if the feed-forward part of this layer (from 0) is a mixture of experts.
[[nodiscard]] inline bool has_experts(const Transformer& m, std::int64_t layer) {
  return layer_kind(m, layer).channel == Channel::experts;
}
[[nodiscard]] constexpr bool has_softmax(Mixer mixer) {
  return mixer == Mixer::whole || mixer == Mixer::window || mixer == Mixer::sparse ||
         mixer == Mixer::compressed;
}
// Query heads of a layer of this kind.
[[nodiscard]] constexpr std::int64_t heads_of(const Transformer& m, const LayerKind& kind) {
  return kind.mixer == Mixer::window && m.window_heads > 0 ? m.window_heads : m.heads;
}
// The number of parallel residual streams.
[[nodiscard]] constexpr std::int64_t streams(const Transformer& m) {
  return m.hyper ? m.hyper->streams : 1;
}
// Numbers that hyper-connections project from the streams of a token for one part of a layer: a
// weight of each stream, of the part's output in each stream, and the matrix that mixes them.
[[nodiscard]] constexpr std::int64_t hyper_maps(const HyperConnections& h) {
  return h.streams * (h.streams + 2);
}
// Tokens that a compressed key of this layer stands for. REQUIRES: a compressed layer.
[[nodiscard]] constexpr std::int64_t compression(const Transformer& m, const LayerKind& kind) {
  return kind.indexes ? m.compressed->sparse_ratio : m.compressed->dense_ratio;
}
// Parts of a layer of this kind: a mixer, a feed-forward part or experts, or both.
[[nodiscard]] constexpr std::int64_t parts_of(const LayerKind& kind) {
  return kind.mixer == Mixer::none || kind.channel == Channel::none ? 1 : 2;
}
// Norms over `hidden` in a layer of this kind: one before each part, or norms_per_layer.
[[nodiscard]] constexpr std::int64_t norms_of(const Transformer& m, const LayerKind& kind) {
  return parts_of(kind) == 1 ? (m.norms_per_layer + 1) / 2 : m.norms_per_layer;
}

// Errors name the faults of the sizes (out of range, not divisible, contradicting), with the
// numbers. The parameter count of a model that passes fits 64 bits.
[[nodiscard]] Result<Done> check_model(const Transformer& model);

}  // namespace stepscope
