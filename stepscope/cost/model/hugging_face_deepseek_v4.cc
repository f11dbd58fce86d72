// SPDX-License-Identifier: Apache-2.0
// DeepSeek-V4: compressed attention, hyper-connections, and experts that the token's id chooses in
// the first layers. Keys of the checkpoints, and those that transformers 5.24 writes instead.
#include <algorithm>
#include <array>
#include <cmath>

#include "stepscope/cost/model/hugging_face_family.h"

namespace stepscope::hugging_face {
namespace {

constexpr std::string_view sparse_word = "compressed_sparse_attention";
constexpr std::string_view dense_word = "heavily_compressed_attention";

void read_ratios(JsonFields& in, CompressedAttention& c) {
  if (const JsonValue* rates = in.find("compress_rates")) {
    JsonFields inner = in.inner("compress_rates", *rates);
    c.sparse_ratio = inner.integer(sparse_word, size_range, c.sparse_ratio);
    c.dense_ratio = inner.integer(dense_word, size_range, c.dense_ratio);
    inner.finish("is no kind of layer whose keys are compressed");
  }
  c.sparse_ratio = in.integer("compress_rate_csa", size_range, c.sparse_ratio);
  c.dense_ratio = in.integer("compress_rate_hca", size_range, c.dense_ratio);
}

// Tokens of a compressed key by layer; 0: only the window. Further entries are those of layers of
// multi-token prediction.
std::string ratio_pattern(JsonFields& in, const Transformer& m) {
  const std::vector<std::int64_t> ratios = in.integers("compress_ratios", count_range);
  std::string pattern;
  if (ratios.empty()) return pattern;
  if (static_cast<std::int64_t>(ratios.size()) < m.layers) {
    in.fail("compress_ratios", "has " + std::to_string(ratios.size()) + " entries for " +
                                   std::to_string(m.layers) + " layers");
    return pattern;
  }
  const auto layers = static_cast<std::size_t>(std::max<std::int64_t>(0, m.layers));
  for (std::size_t i = 0; i < layers; ++i) {
    const std::int64_t ratio = ratios[i];
    const bool dense = ratio == m.compressed->dense_ratio;
    if (ratio != 0 && ratio != m.compressed->sparse_ratio && !dense) {
      in.fail("compress_ratios", "has " + std::to_string(ratio),
              "0, " + std::to_string(m.compressed->sparse_ratio) + " and " +
                  std::to_string(m.compressed->dense_ratio) + " are known");
      return {};
    }
    pattern += ratio == 0 ? 'W' : dense ? 'H' : 'C';
  }
  return pattern;
}

void read_layers(JsonFields& in, Transformer& m) {
  constexpr std::array words = {LayerWord{"sliding_attention", 'W'}, LayerWord{sparse_word, 'C'},
                                LayerWord{dense_word, 'H'}};
  m.pattern = ratio_pattern(in, m);
  read_types(in, "layer_types", words, m);
  if (!m.pattern.empty()) return;
  // Without a list: two of heavily compressed keys, then these and chosen ones in turn.
  for (std::int64_t i = 0; i < std::min<std::int64_t>(m.layers, 10'000); ++i) {
    m.pattern += i > 2 && i % 2 == 1 ? 'C' : 'H';
  }
}

// The first layers, whose experts the token's id chooses.
std::int64_t read_hash_layers(JsonFields& in, const Transformer& m) {
  const std::int64_t stated = in.integer("num_hash_layers", count_range, 3);
  const std::vector<std::string> types = in.texts("mlp_layer_types");
  if (types.empty()) return std::min(stated, m.layers);
  if (static_cast<std::int64_t>(types.size()) != m.layers) {
    in.fail("mlp_layer_types", "has " + std::to_string(types.size()) + " entries for " +
                                   std::to_string(m.layers) + " layers");
    return 0;
  }
  const auto first =
      std::ranges::find_if(types, [](const std::string& type) { return type != "hash_moe"; });
  if (std::any_of(first, types.end(), [](const std::string& type) { return type != "moe"; })) {
    in.fail("mlp_layer_types", "has another order than hash_moe first and moe after it");
  }
  return first - types.begin();
}

std::int64_t read_rope(JsonFields& in, const Transformer& m) {
  constexpr double usual = 0.125;
  const double share = in.number("partial_rotary_factor", 0, 1, usual);
  const auto by_share =
      static_cast<std::int64_t>(std::floor(share * static_cast<double>(m.head_size)));
  return in.integer("qk_rope_head_dim", count_range, by_share);
}

}  // namespace

void read_deepseek_v4(JsonFields& in, Transformer& m) {
  read_common(in, m, false);
  m.feed_forward = 0;
  m.kv_heads = in.integer("num_key_value_heads", size_range, 1);
  must_be_false(in, "attention_bias");
  must_be_false(in, "mlp_bias");
  m.head_size = in.integer("head_dim", size_range, 512);
  m.attention_sinks = true;
  m.compressed = CompressedAttention{.query_rank = in.integer("q_lora_rank", size_range, 1024),
                                     .output_rank = in.integer("o_lora_rank", size_range, 1024),
                                     .output_groups = in.integer("o_groups", size_range, 8),
                                     .rope_head_size = read_rope(in, m)};
  read_ratios(in, *m.compressed);
  m.window = in.integer("sliding_window", size_range, 128);
  read_layers(in, m);
  m.indexer = Indexer{.heads = in.integer("index_n_heads", size_range, 64),
                      .head_size = in.integer("index_head_dim", size_range, 128),
                      .top_k = in.integer("index_topk", size_range, 512)};
  m.hyper = HyperConnections{.streams = in.integer("hc_mult", size_range, 4),
                             .iterations = in.integer("hc_sinkhorn_iters", count_range, 20)};
  constexpr std::int64_t most_shared = std::int64_t{1} << 20;
  const std::int64_t width = in.integer("moe_intermediate_size", size_range, 2048);
  const std::int64_t shared = in.integer("n_shared_experts", count_range, 1);
  m.experts = Experts{.count = in.integer("n_routed_experts", size_range, 256),
                      .top_k = in.integer("num_experts_per_tok", size_range, 6),
                      .feed_forward = width,
                      .shared_feed_forward = std::min(shared, most_shared) * width,
                      .hash_layers = read_hash_layers(in, m),
                      .router_bias = true};
  note_prediction(in, m);
  constexpr std::array<std::string_view, 8> costless = {
      "scoring_func",        "topk_method", "routed_scaling_factor", "swiglu_limit",
      "compress_rope_theta", "hc_eps",      "expert_dtype",          "num_local_experts"};
  in.ignore(costless);
}

}  // namespace stepscope::hugging_face
