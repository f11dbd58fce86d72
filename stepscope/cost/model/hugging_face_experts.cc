// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts of 2025 and 2026 whose layers all have attention (GLM, gpt-oss, MiniMax,
// Step), and Gemma's windows.
#include <algorithm>
#include <array>
#include <utility>

#include "stepscope/base/number_text.h"
#include "stepscope/cost/model/hugging_face_family.h"

namespace stepscope::hugging_face {
namespace {

constexpr std::int64_t most_letters = 10'000;
constexpr std::int64_t most_shared = std::int64_t{1} << 20;

// Experts by DeepSeek's keys.
void read_fine_experts(JsonFields& in, Transformer& m, std::int64_t dense_otherwise) {
  const std::int64_t width = in.integer("moe_intermediate_size", size_range);
  const std::int64_t shared = in.integer("n_shared_experts", count_range, 1);
  m.experts = Experts{
      .count = in.integer("n_routed_experts", size_range),
      .top_k = in.integer("num_experts_per_tok", size_range),
      .feed_forward = width,
      .shared_feed_forward = std::min(shared, most_shared) * width,
      .first_dense_layers = in.integer("first_k_dense_replace", count_range, dense_otherwise),
      .router_bias = true};
  read_dense_layers(in, "mlp_layer_types", m);
  constexpr std::array<std::string_view, 8> costless = {
      "n_group", "topk_group", "topk_method", "scoring_func",
      "seq_aux", "ep_size",    "num_experts", "routed_scaling_factor"};
  in.ignore(costless);
}

// The layers with an indexer of their own; the others use the choice of the one before.
void read_indexers(JsonFields& in, Transformer& m) {
  constexpr std::array words = {LayerWord{"full", 'S'}, LayerWord{"shared", 's'}};
  const std::int64_t every = in.integer("index_topk_freq", size_range, 1);
  const std::int64_t offset = in.integer("index_skip_topk_offset", count_range, 2);
  const std::string letters = in.text("index_topk_pattern", "");
  m.pattern.clear();
  for (std::int64_t i = 0; i < std::min(m.layers, most_letters); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool own = letters.empty() ? std::max<std::int64_t>(i - offset + 1, 0) % every == 0
                                     : at < letters.size() && letters[at] == 'F';
    m.pattern += own ? 'S' : 's';
  }
  if (!letters.empty() && static_cast<std::int64_t>(letters.size()) != m.layers) {
    in.fail("index_topk_pattern", "has not one letter per layer", "write F or S for each layer");
  }
  read_types(in, "indexer_types", words, m);
}

}  // namespace

void read_glm4_moe(JsonFields& in, Transformer& m) {
  read_common(in, m);
  m.head_size = head_size(in, m);
  m.qkv_bias = in.flag("attention_bias", false);
  m.qk_norm = in.flag("use_qk_norm", false);
  read_fine_experts(in, m, 1);
  note_prediction(in, m);
}

void read_glm_moe_dsa(JsonFields& in, Transformer& m) {
  read_common(in, m);
  read_latent(in, m);
  must_be_false(in, "mlp_bias");
  read_fine_experts(in, m, 3);
  m.indexer = Indexer{.heads = in.integer("index_n_heads", size_range, 32),
                      .head_size = in.integer("index_head_dim", size_range, 128),
                      .top_k = in.integer("index_topk", size_range, 2048)};
  read_indexers(in, m);
  note_prediction(in, m);
  constexpr std::array<std::string_view, 6> costless = {
      "qk_head_dim",     "head_dim",       "layer_types",
      "rope_interleave", "moe_layer_freq", "indexer_rope_interleave"};
  in.ignore(costless);
}

void read_gpt_oss(JsonFields& in, Transformer& m) {
  read_common(in, m);
  m.head_size = in.integer("head_dim", size_range, 64);
  m.qkv_bias = m.attention_output_bias = in.flag("attention_bias", true);
  m.feed_forward_bias = true;
  m.attention_sinks = true;
  m.experts = Experts{.count = in.integer("num_local_experts", size_range),
                      .top_k = in.integer("num_experts_per_tok", size_range),
                      .feed_forward = m.feed_forward,
                      .router_bias = true};
  m.window = in.optional_integer("sliding_window", size_range).value_or(128);
  m.window_every = 2;
  if (in.find("layer_types") != nullptr) read_layer_types(in, m, *m.window);
  constexpr std::array<std::string_view, 5> costless = {
      "swiglu_alpha", "swiglu_limit", "experts_per_token", "initial_context_length", "num_experts"};
  in.ignore(costless);
}

// The norms over all queries and over all keys are counted as a norm over each head.
void read_minimax_m2(JsonFields& in, Transformer& m) {
  read_common(in, m);
  m.head_size = head_size(in, m);
  m.qk_norm = in.flag("use_qk_norm", true);
  m.experts = Experts{.count = in.integer("num_local_experts", size_range),
                      .top_k = in.integer("num_experts_per_tok", size_range),
                      .feed_forward = m.feed_forward,
                      .router_bias = true};
  if (in.integer("shared_intermediate_size", count_range, 0) > 0) {
    in.fail("shared_intermediate_size", "is not 0, which is not modelled for this family");
  }
  const bool predicts = in.flag("use_mtp", false);
  if (in.integer("num_mtp_modules", count_range, 0) > 0 || predicts) {
    m.notes.emplace_back(
        "num_mtp_modules: the layers that predict further tokens are left out, "
        "as the library's own model does");
  }
  constexpr std::array<std::string_view, 8> costless = {
      "rotary_dim",     "scoring_func", "use_routing_bias", "qk_norm_type",
      "attn_type_list", "num_experts",  "shared_moe_mode",  "mtp_transformer_layers"};
  in.ignore(costless);
}

void read_minimax_m3(JsonFields& in, Transformer& m) {
  read_common(in, m);
  m.head_size = head_size(in, m);
  m.qk_norm = true;
  const std::int64_t width = m.feed_forward;
  m.feed_forward = in.integer("dense_intermediate_size", size_range, 12288);
  m.experts = Experts{.count = in.integer("num_local_experts", size_range),
                      .top_k = in.integer("num_experts_per_tok", size_range),
                      .feed_forward = width,
                      .shared_feed_forward = in.integer("shared_intermediate_size", count_range, 0),
                      .router_bias = true};
  read_dense_layers(in, "mlp_layer_types", m);
  const std::int64_t block = in.integer("index_block_size", size_range, 128);
  const std::int64_t blocks = in.integer("index_topk_blocks", size_range, 16);
  m.indexer = Indexer{.heads = in.integer("index_n_heads", size_range, 4),
                      .head_size = in.integer("index_head_dim", size_range, 128),
                      .top_k = std::min(block, most_shared) * std::min(blocks, most_shared)};
  constexpr std::array words = {LayerWord{"full_attention", 'F'},
                                LayerWord{"minimax_m3_sparse", 'S'}};
  read_types(in, "layer_types", words, m);
  constexpr std::array<std::string_view, 6> costless = {"rotary_dim",   "routed_scaling_factor",
                                                        "swiglu_alpha", "swiglu_limit",
                                                        "num_experts",  "index_local_blocks"};
  in.ignore(costless);
}

namespace {

// "3,4,5" or [3, 4, 5]: the layers with experts. Absent: all from the fourth on.
std::vector<std::int64_t> read_expert_layers(JsonFields& in, const Transformer& m) {
  constexpr std::string_view key = "moe_layers_enum";
  const JsonValue* given = in.find(key);
  std::vector<std::int64_t> layers;
  if (given == nullptr) {
    for (std::int64_t i = 3; i < std::min(m.layers, most_letters); ++i) layers.push_back(i);
    return layers;
  }
  if (given->kind != JsonValue::Kind::text) return in.integers(key, count_range);
  std::string_view text = given->text;
  while (!text.empty()) {
    if (text.front() == ' ') {
      text.remove_prefix(1);
      continue;
    }
    const std::size_t comma = std::min(text.find(','), text.size());
    const auto layer = number_of<std::int64_t>(text.substr(0, comma));
    if (!layer || *layer < 0) {
      in.fail(key, "is not a list of layers", "write numbers with commas between them");
      return {};
    }
    layers.push_back(*layer);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return layers;
}

// Query heads of layers with a window.
void read_window_heads(JsonFields& in, Transformer& m) {
  std::int64_t heads = m.heads;
  if (const JsonValue* other = in.find("attention_other_setting")) {
    JsonFields inner = in.inner("attention_other_setting", *other);
    const std::string type = inner.text("attention_type", "sliding_attention");
    if (type != "sliding_attention") {
      inner.fail("attention_type", "is \"" + type + "\"", "sliding_attention is known");
    }
    heads = inner.integer("num_attention_heads", size_range, m.heads);
    const std::int64_t groups = inner.integer("num_attention_groups", size_range, m.kv_heads);
    const std::int64_t size = inner.integer("head_dim", size_range, m.head_size);
    if (groups != m.kv_heads || size != m.head_size) {
      in.fail("attention_other_setting",
              "has other key-value heads or another head_dim than the other layers, which is not "
              "modelled");
    }
    inner.integer("true_head_dim", size_range, m.head_size);
    inner.finish("is not understood and may change the cost");
  }
  heads = in.optional_integer("num_sliding_attention_heads", size_range).value_or(heads);
  if (m.window && heads != m.heads) m.window_heads = heads;
}

constexpr std::array<std::string_view, 18> step3_costless = {
    "query_pre_attn_scalar",  "moe_router_scaling_factor",
    "swiglu_limits",          "swiglu_limits_shared",
    "mtp_layer_types",        "mtp_mlp_layer_types",
    "num_local_experts",      "num_mtp_layers",
    "partial_rotary_factors", "use_moe_router_bias",
    "moe_router_activation",  "norm_expert_weight",
    "need_fp32_gate",         "use_rope_layers",
    "yarn_only_types",        "max_seq_len",
    "zero_centered",          "moe_layer_offset"};

}  // namespace

void read_step3(JsonFields& in, Transformer& m) {
  // Its checkpoints call the key-value heads groups.
  const auto groups = in.optional_integer("num_attention_groups", size_range);
  read_common(in, m);
  m.kv_heads = groups.value_or(m.kv_heads);
  m.qk_norm = in.flag("use_qk_norm", true);
  m.head_size = in.integer("head_dim", size_range, 128);
  m.head_gate = in.flag("use_head_wise_attn_gate", false);
  if (in.flag("attention_output_gate", false) && !m.head_gate) {
    in.fail("attention_output_gate", "is true without use_head_wise_attn_gate",
            "only a gate for each head is modelled for this family");
  }
  if (!in.flag("use_moe", true)) in.fail("use_moe", "is false, which is not modelled");
  must_be_false(in, "sink");
  must_be_false(in, "use_bidirectional_attention");
  must_be_false(in, "attention_bias");
  must_be_false(in, "mlp_bias");
  const auto either = [&in](std::string_view key, std::string_view other, std::int64_t otherwise) {
    const auto a = in.optional_integer(key, count_range);
    const auto b = in.optional_integer(other, count_range);
    return a.value_or(b.value_or(otherwise));
  };
  m.experts = Experts{.count = either("moe_num_experts", "n_routed_experts", 288),
                      .top_k = either("moe_top_k", "num_experts_per_tok", 8),
                      .feed_forward = in.integer("moe_intermediate_size", size_range),
                      .shared_feed_forward = either("share_expert_dims", "share_expert_dim", 0),
                      .router_bias = true};
  const std::vector<std::int64_t> with = read_expert_layers(in, m);
  std::vector<std::int64_t> dense;
  for (std::int64_t i = 0; i < std::min(m.layers, most_letters); ++i) {
    if (std::ranges::find(with, i) == with.end()) dense.push_back(i);
  }
  set_dense_layers(m, std::move(dense));
  read_dense_layers(in, "mlp_layer_types", m);
  m.window = in.optional_integer("sliding_window", size_range);
  read_layer_types(in, m, m.window.value_or(1), ListLength::beyond);
  if (in.find("layer_types") == nullptr) m.window.reset();  // every layer sees the whole sequence
  read_window_heads(in, m);
  note_prediction(in, m);
  if (in.integer("moe_every_n_layer", size_range, 1) != 1) {
    in.fail("moe_every_n_layer", "is not 1, which is not modelled");
  }
  const std::string kind = in.text("att_impl_type", "GQA");
  if (kind != "GQA") in.fail("att_impl_type", "is \"" + kind + "\"", "GQA is known");
  in.ignore(step3_costless);
}

// Four norms a layer. The caps of scores and logits cost little.
void read_gemma2(JsonFields& in, Transformer& m) {
  const bool old = in.find("hidden_act") != nullptr;
  const Activation given =
      activation(in, old ? "hidden_act" : "hidden_activation", "gelu_pytorch_tanh");
  const bool tied = in.flag("tie_word_embeddings", true);
  in.find("hidden_activation");
  read_common(in, m);
  m.activation = given;
  m.tied_embeddings = tied;
  m.head_size = in.integer("head_dim", size_range, 256);
  m.norms_per_layer = 4;
  m.qkv_bias = m.attention_output_bias = in.flag("attention_bias", false);
  must_be_false(in, "use_bidirectional_attention");
  m.window = in.optional_integer("sliding_window", size_range).value_or(4096);
  m.window_every = 2;
  if (in.find("layer_types") != nullptr) read_layer_types(in, m, *m.window);
  constexpr std::array<std::string_view, 5> costless = {
      "query_pre_attn_scalar", "final_logit_softcapping", "attn_logit_softcapping",
      "cache_implementation", "rope_local_base_freq"};
  in.ignore(costless);
}

// The last of each `sliding_window_pattern` layers sees the whole sequence.
void read_gemma3(JsonFields& in, Transformer& m) {
  read_gemma2(in, m);
  m.qk_norm = true;
  const std::int64_t every = in.integer("sliding_window_pattern", size_range, 6);
  in.find("_sliding_window_pattern");
  if (in.find("layer_types") != nullptr) return;
  m.window_every = 1;
  for (std::int64_t i = 0; i < std::min(m.layers, most_letters); ++i) {
    m.pattern += (i + 1) % every == 0 ? 'F' : 'W';
  }
}

}  // namespace stepscope::hugging_face
