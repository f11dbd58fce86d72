// SPDX-License-Identifier: Apache-2.0
// GPT-2 and models built like it (layer norm, four times the width in the feed-forward part), and
// the bidirectional BERT and ViT.
#include <array>

#include "stepscope/cost/model/hugging_face_family.h"

namespace stepscope::hugging_face {
namespace {

// One size with two names in two generations of a config; the first name is preferred.
std::int64_t either(JsonFields& in, std::string_view key, std::string_view old_key) {
  if (const auto n = in.optional_integer(key, size_range)) {
    in.find(old_key);
    return *n;
  }
  if (const auto n = in.optional_integer(old_key, size_range)) return *n;
  in.fail(key, "is missing (or \"" + std::string(old_key) + "\")");
  return 1;
}

void heads_of_hidden(JsonFields& in, std::string_view key, Transformer& m) {
  m.kv_heads = m.heads;
  m.head_size = m.hidden / m.heads;
  if (m.hidden % m.heads != 0) in.fail(key, "does not divide the hidden size");
}

void no_dropout_at(JsonFields& in, std::string_view key, double allowed) {
  const double p = in.number(key, 0, 1, allowed);
  if (p != 0 && p != allowed)
    in.fail(key, "differs from the other dropouts, which is not modelled");
}

// Sizes by the names that most of the library's families share.
void read_sizes(JsonFields& in, Transformer& m) {
  m.layers = in.integer("num_hidden_layers", size_range);
  m.hidden = in.integer("hidden_size", size_range);
  m.heads = in.integer("num_attention_heads", size_range);
  heads_of_hidden(in, "num_attention_heads", m);
  m.feed_forward = in.integer("intermediate_size", size_range);
}

}  // namespace

void read_gpt2(JsonFields& in, Transformer& m) {
  m.layers = in.integer("n_layer", size_range);
  m.hidden = in.integer("n_embd", size_range);
  m.heads = in.integer("n_head", size_range);
  heads_of_hidden(in, "n_head", m);
  m.feed_forward = in.optional_integer("n_inner", size_range).value_or(4 * m.hidden);
  m.vocabulary = in.integer("vocab_size", size_range);
  m.max_positions = either(in, "n_positions", "n_ctx");
  m.activation = activation(in, "activation_function", "gelu_new");
  m.tied_embeddings = in.flag("tie_word_embeddings", true);
  m.dropout = dropout(in, "attn_pdrop", "resid_pdrop", 0.1);
  no_dropout_at(in, "embd_pdrop", m.dropout);
  must_be_false(in, "add_cross_attention");
  constexpr std::array<std::string_view, 9> costless = {"scale_attn_weights",
                                                        "scale_attn_by_inverse_layer_idx",
                                                        "reorder_and_upcast_attn",
                                                        "summary_activation",
                                                        "summary_first_dropout",
                                                        "summary_proj_to_labels",
                                                        "summary_type",
                                                        "summary_use_proj",
                                                        "predict_special_tokens"};
  in.ignore(costless);
}

void read_gpt_neox(JsonFields& in, Transformer& m) {
  read_sizes(in, m);
  m.vocabulary = in.integer("vocab_size", size_range);
  m.activation = activation(in, "hidden_act", "gelu");
  m.positions = Positions::rotary;
  m.parallel_block = in.flag("use_parallel_residual", true);
  m.qkv_bias = m.attention_output_bias = in.flag("attention_bias", true);
  m.tied_embeddings = in.flag("tie_word_embeddings", false);
  m.dropout = dropout(in, "attention_dropout", "hidden_dropout", 0);
  // Names from before the library knew the family.
  no_dropout_at(in, "attention_probs_dropout_prob", 0);
  no_dropout_at(in, "hidden_dropout_prob", 0);
}

void read_bloom(JsonFields& in, Transformer& m) {
  m.layers = either(in, "n_layer", "num_hidden_layers");
  m.hidden = either(in, "hidden_size", "n_embed");
  m.heads = either(in, "n_head", "num_attention_heads");
  heads_of_hidden(in, "n_head", m);
  m.feed_forward = 4 * m.hidden;
  if (in.optional_integer("n_inner", size_range).value_or(m.feed_forward) != m.feed_forward) {
    in.fail("n_inner", "is not 4 * hidden_size, which the library does not build");
  }
  m.vocabulary = in.integer("vocab_size", size_range);
  m.embedding_norm = true;
  m.positions = Positions::alibi;
  m.tied_embeddings = in.flag("tie_word_embeddings", true);
  m.dropout = dropout(in, "attention_dropout", "hidden_dropout", 0);
  constexpr std::array<std::string_view, 10> costless = {"apply_residual_connection_post_layernorm",
                                                         "attention_softmax_in_fp32",
                                                         "bias_dropout_fusion",
                                                         "masked_softmax_fusion",
                                                         "offset_alibi",
                                                         "seq_length",
                                                         "skip_bias_add",
                                                         "skip_bias_add_qkv",
                                                         "slow_but_exact",
                                                         "use_flash_attn"};
  in.ignore(costless);
}

// MPT. Its layer norms have no bias, whatever no_bias says.
void read_mpt(JsonFields& in, Transformer& m) {
  m.layers = in.integer("n_layers", size_range);
  m.hidden = in.integer("d_model", size_range);
  m.heads = in.integer("n_heads", size_range);
  heads_of_hidden(in, "n_heads", m);
  m.feed_forward = in.integer("expansion_ratio", {1, 1000}, 4) * m.hidden;
  m.vocabulary = in.integer("vocab_size", size_range);
  m.max_positions = in.integer("max_seq_len", size_range, 2048);
  m.norm_bias = false;
  m.qkv_bias = m.attention_output_bias = m.feed_forward_bias = !in.flag("no_bias", true);
  m.tied_embeddings = in.flag("tie_word_embeddings", true);
  const bool table = in.flag("learned_pos_emb", true);
  m.positions = Positions::alibi;
  double attention_dropout = 0;
  if (const JsonValue* part = in.find("attn_config")) {
    constexpr std::array<std::string_view, 3> types = {
        "multihead_attention", "multiquery_attention", "grouped_query_attention"};
    JsonFields attention = in.inner("attn_config", *part);
    const std::size_t type = attention.choice("attn_type", types, 0);
    if (type == 1) m.kv_heads = 1;
    const auto groups = attention.optional_integer("kv_n_heads", size_range);
    if (type == 2) m.kv_heads = groups.value_or(m.heads);
    if (!attention.flag("alibi", true)) m.positions = table ? Positions::learned : Positions::none;
    attention_dropout = attention.number("attn_pdrop", 0, 1, 0);
    must_be_false(attention, "prefix_lm");
    must_be_false(attention, "qk_ln");
    must_be_false(attention, "rope");
    constexpr std::array<std::string_view, 7> costless = {"attn_impl",      "attn_uses_sequence_id",
                                                          "alibi_bias_max", "clip_qkv",
                                                          "softmax_scale",  "model_type",
                                                          "rope_theta"};
    attention.ignore(costless);
    attention.finish("is not understood and may change the cost");
  }
  m.dropout = in.number("resid_pdrop", 0, 1, 0);
  if (attention_dropout != m.dropout) {
    in.fail("resid_pdrop", "differs from attn_config.attn_pdrop, which is not modelled");
  }
  no_dropout_at(in, "emb_pdrop", m.dropout);
  constexpr std::array<std::string_view, 7> costless = {
      "embedding_fraction", "init_config", "init_device",   "logit_scale",
      "norm_type",          "verbose",     "tokenizer_name"};
  in.ignore(costless);
}

void read_bert(JsonFields& in, Transformer& m) {
  read_sizes(in, m);
  m.vocabulary = in.integer("vocab_size", size_range);
  m.max_positions = in.integer("max_position_embeddings", size_range);
  m.token_types = in.integer("type_vocab_size", size_range, 2);
  m.activation = activation(in, "hidden_act", "gelu");
  m.embedding_norm = true;
  m.final_norm = false;
  m.causal = false;
  m.tied_embeddings = m.head_transform = m.head_bias = true;
  m.dropout = dropout(in, "attention_probs_dropout_prob", "hidden_dropout_prob", 0.1);
  must_be_false(in, "is_decoder");
  must_be_false(in, "add_cross_attention");
  const auto classes = in.texts("architectures");
  for (const std::string& name : classes) {
    m.pooler = name.ends_with("ForPreTraining") || name.ends_with("Model");
    m.head = !name.ends_with("Model");
  }
  if (!m.head) m.tied_embeddings = m.head_transform = m.head_bias = false;
  constexpr std::array<std::string_view, 8> costless = {
      "position_embedding_type", "pooler_fc_size",       "pooler_num_attention_heads",
      "pooler_num_fc_layers",    "pooler_size_per_head", "pooler_type",
      "directionality",          "layer_norm_type"};
  if (in.text("position_embedding_type", "absolute") != "absolute") {
    in.fail("position_embedding_type", "is not \"absolute\", which is not modelled");
  }
  in.ignore(costless);
}

void read_vit(JsonFields& in, Transformer& m) {
  read_sizes(in, m);
  m.activation = activation(in, "hidden_act", "gelu");
  m.patches = Patches{.image = in.integer("image_size", {1, 100'000}, 224),
                      .patch = in.integer("patch_size", {1, 100'000}, 16),
                      .channels = in.integer("num_channels", {1, 100'000}, 3)};
  m.max_positions = image_tokens(*m.patches);
  m.causal = false;
  m.qkv_bias = in.flag("qkv_bias", true);
  m.dropout = dropout(in, "attention_probs_dropout_prob", "hidden_dropout_prob", 0);
  const JsonValue* labels = in.find("id2label");
  m.classes = in.integer("num_labels", count_range,
                         labels == nullptr ? 2 : static_cast<std::int64_t>(labels->keys.size()));
  m.head_bias = m.head = m.classes > 0;
  must_be_false(in, "is_decoder");
  constexpr std::array<std::string_view, 3> costless = {"encoder_stride", "pooler_act",
                                                        "pooler_output_size"};
  in.ignore(costless);
}

}  // namespace stepscope::hugging_face
