// SPDX-License-Identifier: Apache-2.0
// Llama and models built like it: RMS norm, rotary positions, gated feed-forward, grouped queries.
#include <algorithm>
#include <array>
#include <utility>

#include "stepscope/cost/model/hugging_face_family.h"

namespace stepscope::hugging_face {

void read_common(JsonFields& in, Transformer& m, bool dense) {
  m.layers = in.integer("num_hidden_layers", size_range);
  m.hidden = in.integer("hidden_size", size_range);
  m.heads = in.integer("num_attention_heads", size_range);
  m.kv_heads = in.optional_integer("num_key_value_heads", size_range).value_or(m.heads);
  m.feed_forward = dense ? in.integer("intermediate_size", size_range)
                         : in.integer("intermediate_size", count_range, 0);
  m.vocabulary = in.integer("vocab_size", size_range);
  m.activation = activation(in, "hidden_act", "silu");
  m.tied_embeddings = in.flag("tie_word_embeddings", false);
  m.gated = true;
  m.norm = Norm::rms_norm;
  m.norm_bias = false;
  m.positions = Positions::rotary;
  m.qkv_bias = m.attention_output_bias = m.feed_forward_bias = false;
  no_attention_dropout(in);
}

void read_types(JsonFields& in, std::string_view key, std::span<const LayerWord> words,
                Transformer& m, ListLength length) {
  std::vector<std::string> types = in.texts(key);
  if (types.empty()) return;
  if (length == ListLength::beyond && static_cast<std::int64_t>(types.size()) > m.layers) {
    types.resize(static_cast<std::size_t>(m.layers));
  }
  if (static_cast<std::int64_t>(types.size()) != m.layers) {
    in.fail(key, "has " + std::to_string(types.size()) + " entries for " +
                     std::to_string(m.layers) + " layers");
    return;
  }
  m.pattern.clear();
  for (const std::string& type : types) {
    const auto at = std::ranges::find(words, std::string_view(type), &LayerWord::word);
    if (at == words.end()) {
      std::string known;
      for (const LayerWord& w : words) {
        known += (known.empty() ? "" : &w == &words.back() ? " and " : ", ") + std::string(w.word);
      }
      in.fail(key, "has \"" + type + "\"", known + " are known");
      m.pattern.clear();
      return;
    }
    m.pattern += at->letter;
  }
}

void read_dense_layers(JsonFields& in, std::string_view key, Transformer& m) {
  const std::vector<std::string> types = in.texts(key);
  if (types.empty() || !m.experts) return;
  if (static_cast<std::int64_t>(types.size()) != m.layers) {
    in.fail(key, "has " + std::to_string(types.size()) + " entries for " +
                     std::to_string(m.layers) + " layers");
    return;
  }
  std::vector<std::int64_t> dense;
  for (std::int64_t i = 0; i < m.layers; ++i) {
    const std::string& type = types[static_cast<std::size_t>(i)];
    if (type == "dense") dense.push_back(i);
    if (type != "dense" && type != "sparse") {
      in.fail(key, "has \"" + type + "\"", "dense and sparse are known");
      return;
    }
  }
  set_dense_layers(m, std::move(dense));
}

void set_dense_layers(Transformer& m, std::vector<std::int64_t> dense) {
  m.experts->first_dense_layers = 0;
  // In fewer words, if only the first layers are dense.
  const auto first = static_cast<std::int64_t>(dense.size());
  if (first > 0 && dense.back() == first - 1) {
    m.experts->first_dense_layers = first;
    dense.clear();
  }
  m.experts->dense_layers = std::move(dense);
}

void read_layer_types(JsonFields& in, Transformer& m, std::int64_t window, ListLength length) {
  constexpr std::array words = {LayerWord{"full_attention", 'F'},
                                LayerWord{"sliding_attention", 'W'}};
  read_types(in, "layer_types", words, m, length);
  if (m.pattern.empty()) return;
  m.window.reset();
  m.window_every = 1;
  const std::string pattern = std::move(m.pattern);
  m.pattern.clear();
  const std::size_t sliding = pattern.find('W');
  if (sliding == pattern.npos) return;
  m.window = window;
  // Every k-th from the first needs no pattern.
  const std::size_t second = pattern.find('W', 1);
  m.window_every = static_cast<std::int64_t>(second == pattern.npos ? pattern.size() : second);
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const auto k = static_cast<std::size_t>(m.window_every);
    if ((pattern[i] == 'W') == (i % k == 0)) continue;
    m.pattern = pattern;
    m.window_every = 1;
    return;
  }
}

namespace {

// A window is used only if use_sliding_window is true, and not in every layer.
void read_qwen_window(JsonFields& in, Transformer& m) {
  const bool used = in.flag("use_sliding_window", false);
  const auto window = in.optional_integer("sliding_window", {1, size_range.most});
  const std::int64_t first = in.integer("max_window_layers", count_range, 28);
  const bool per_layer = in.find("layer_types") != nullptr;
  if (used && !per_layer && first < m.layers) {
    if (first > 0) {
      in.fail("max_window_layers", "gives windows to a part of the layers, which is not modelled",
              "list them in layer_types, or set use_sliding_window to false");
    }
    m.window = window;
  }
  read_layer_types(in, m, window.value_or(1));
}

void read_qwen_experts(JsonFields& in, Transformer& m) {
  m.experts = Experts{.count = in.integer("num_experts", size_range),
                      .top_k = in.integer("num_experts_per_tok", size_range),
                      .feed_forward = in.integer("moe_intermediate_size", size_range),
                      .every = in.integer("decoder_sparse_step", size_range, 1)};
  // The library tests each layer for membership, so numbers beyond the last layer have no effect.
  for (const std::int64_t layer : in.integers("mlp_only_layers", count_range)) {
    if (layer < m.layers) m.experts->dense_layers.push_back(layer);
  }
}

}  // namespace

void read_llama(JsonFields& in, Transformer& m) {
  read_common(in, m);
  m.head_size = head_size(in, m);
  m.qkv_bias = m.attention_output_bias = in.flag("attention_bias", false);
  m.feed_forward_bias = in.flag("mlp_bias", false);
}

void read_mistral(JsonFields& in, Transformer& m) {
  read_common(in, m);
  m.head_size = head_size(in, m);
  m.window = in.optional_integer("sliding_window", size_range);
  read_layer_types(in, m, m.window.value_or(1));
}

void read_mixtral(JsonFields& in, Transformer& m) {
  read_mistral(in, m);
  m.experts = Experts{.count = in.integer("num_local_experts", size_range),
                      .top_k = in.integer("num_experts_per_tok", size_range),
                      .feed_forward = m.feed_forward};
}

// The first generation is a class of its own: c_attn always has a bias, and intermediate_size
// counts gate and value together.
void read_qwen(JsonFields& in, Transformer& m) {
  m.layers = in.integer("num_hidden_layers", size_range);
  m.hidden = in.integer("hidden_size", size_range);
  m.heads = m.kv_heads = in.integer("num_attention_heads", size_range);
  m.head_size = in.integer("kv_channels", size_range, 128);
  const std::int64_t both = in.integer("intermediate_size", size_range);
  m.feed_forward = both / 2;
  if (both % 2 != 0) in.fail("intermediate_size", "must be even: gate and value together");
  m.vocabulary = in.integer("vocab_size", size_range);
  m.tied_embeddings = in.flag("tie_word_embeddings", false);
  m.gated = true;
  m.activation = Activation::silu;
  m.norm = Norm::rms_norm;
  m.norm_bias = false;
  m.positions = Positions::rotary;
  const bool bias = !in.flag("no_bias", true);
  m.attention_output_bias = m.feed_forward_bias = bias;
  if (in.number("emb_dropout_prob", 0, 1, 0) != 0) {
    in.fail("emb_dropout_prob", "is not 0, which is not modelled");
  }
  if (in.number("attn_dropout_prob", 0, 1, 0) != 0) {
    in.fail("attn_dropout_prob", "is not 0, which is not modelled");
  }
  constexpr std::array<std::string_view, 14> costless = {"scale_attn_weights",
                                                         "use_flash_attn",
                                                         "use_dynamic_ntk",
                                                         "use_logn_attn",
                                                         "bf16",
                                                         "fp16",
                                                         "fp32",
                                                         "onnx_safe",
                                                         "seq_length",
                                                         "use_cache_kernel",
                                                         "use_cache_quantization",
                                                         "softmax_in_fp32",
                                                         "rotary_emb_dim",
                                                         "model_max_length"};
  in.ignore(costless);
}

void read_qwen2(JsonFields& in, Transformer& m) {
  read_common(in, m);
  m.head_size = head_size(in, m);
  m.qkv_bias = true;
  read_qwen_window(in, m);
}

void read_qwen2_moe(JsonFields& in, Transformer& m) {
  read_common(in, m);
  m.head_size = head_size(in, m);
  m.qkv_bias = in.flag("qkv_bias", true);
  read_qwen_window(in, m);
  read_qwen_experts(in, m);
  m.experts->shared_feed_forward = in.integer("shared_expert_intermediate_size", size_range);
  m.experts->shared_gate = true;
}

void read_qwen3(JsonFields& in, Transformer& m) {
  read_common(in, m);
  m.head_size = in.integer("head_dim", size_range, 128);
  m.qkv_bias = m.attention_output_bias = in.flag("attention_bias", false);
  m.qk_norm = true;
  read_qwen_window(in, m);
}

void read_qwen3_moe(JsonFields& in, Transformer& m) {
  read_common(in, m);
  m.head_size = head_size(in, m);
  m.qkv_bias = m.attention_output_bias = in.flag("attention_bias", false);
  m.qk_norm = true;
  read_qwen_window(in, m);
  read_qwen_experts(in, m);
}

void read_latent(JsonFields& in, Transformer& m) {
  if (m.kv_heads != m.heads) {
    in.fail("num_key_value_heads",
            "differs from num_attention_heads, which latent attention has "
            "no use for");
    m.kv_heads = m.heads;
  }
  m.qkv_bias = m.attention_output_bias = in.flag("attention_bias", false);
  m.latent = LatentAttention{.query_rank = in.integer("q_lora_rank", size_range, 0),
                             .kv_rank = in.integer("kv_lora_rank", size_range),
                             .rope_head_size = in.integer("qk_rope_head_dim", size_range),
                             .nope_head_size = in.integer("qk_nope_head_dim", size_range),
                             .value_head_size = in.integer("v_head_dim", size_range)};
  m.head_size = m.latent->rope_head_size + m.latent->nope_head_size;
}

void note_prediction(JsonFields& in, Transformer& m) {
  if (in.optional_integer("num_nextn_predict_layers", count_range).value_or(0) == 0) return;
  m.notes.emplace_back(
      "num_nextn_predict_layers: the layers that predict further tokens are "
      "left out, as the library's own model does");
}

// Multi-head latent attention, and fine-grained experts with shared ones.
void read_deepseek_v2(JsonFields& in, Transformer& m) {
  read_common(in, m);
  read_latent(in, m);
  constexpr std::array<std::string_view, 11> costless = {
      "qk_head_dim",           "head_dim",       "topk_method", "scoring_func", "seq_aux",
      "routed_scaling_factor", "aux_loss_alpha", "ep_size",     "mlp_bias",     "rope_interleave",
      "num_local_experts"};
  must_be_false(in, "mlp_bias");
  in.ignore(costless);
  note_prediction(in, m);
  const std::int64_t freq = in.integer("moe_layer_freq", size_range, 1);
  if (freq != 1) in.fail("moe_layer_freq", "is not 1, which is not modelled");
  const std::int64_t shared = in.integer("n_shared_experts", count_range, 0);
  const auto count = in.optional_integer("n_routed_experts", size_range);
  const std::int64_t width = in.integer("moe_intermediate_size", size_range, 1);
  const std::int64_t top_k = in.integer("num_experts_per_tok", size_range, 1);
  const std::int64_t dense = in.integer("first_k_dense_replace", count_range, 0);
  const std::int64_t groups = in.optional_integer("n_group", count_range).value_or(1);
  const std::int64_t top_groups = in.optional_integer("topk_group", count_range).value_or(1);
  if (!count) return;
  m.experts = Experts{.count = *count,
                      .top_k = top_k,
                      .feed_forward = width,
                      .shared_feed_forward = std::min(shared, std::int64_t{1} << 20) * width,
                      .groups = groups > 1 ? groups : 0,
                      .top_groups = groups > 1 ? top_groups : 0,
                      .first_dense_layers = dense};
}

void read_deepseek_v3(JsonFields& in, Transformer& m) {
  read_deepseek_v2(in, m);
  if (m.experts) m.experts->router_bias = true;
}

}  // namespace stepscope::hugging_face
