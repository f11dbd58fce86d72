// SPDX-License-Identifier: Apache-2.0
// Models some of whose layers carry a state instead of attention: Nemotron-H (Mamba-2), Qwen 3.5
// (gated delta net), Kimi (delta attention).
#include <algorithm>
#include <array>

#include "stepscope/cost/model/hugging_face_family.h"

namespace stepscope::hugging_face {
namespace {

constexpr std::int64_t most_layers = 10'000;

constexpr std::array linear_words = {LayerWord{"full_attention", 'F'},
                                     LayerWord{"linear_attention", 'L'}};

// The last layer of each interval has attention; the others are linear.
std::string every_last(std::int64_t layers, std::int64_t interval) {
  std::string pattern;
  for (std::int64_t i = 0; i < std::min(layers, most_layers); ++i) {
    pattern += (i + 1) % interval == 0 ? 'F' : 'L';
  }
  return pattern;
}

void read_gated_attention(JsonFields& in, Transformer& m) {
  m.head_size = in.integer("head_dim", size_range, 256);
  m.qkv_bias = m.attention_output_bias = in.flag("attention_bias", false);
  m.qk_norm = true;
  m.attention_gate = in.flag("attn_output_gate", true);
  m.linear = LinearAttention{.key_heads = in.integer("linear_num_key_heads", size_range, 16),
                             .value_heads = in.integer("linear_num_value_heads", size_range, 32),
                             .key_size = in.integer("linear_key_head_dim", size_range, 128),
                             .value_size = in.integer("linear_value_head_dim", size_range, 128),
                             .convolution = in.integer("linear_conv_kernel_dim", size_range, 4)};
  m.pattern = every_last(m.layers, in.integer("full_attention_interval", size_range, 4));
  read_types(in, "layer_types", linear_words, m);
  if (in.integer("mtp_num_hidden_layers", count_range, 0) > 0) {
    m.notes.emplace_back(
        "mtp_num_hidden_layers: the layers that predict further tokens are left "
        "out, as the library's own model does");
  }
  if (!in.integers("mlp_only_layers", count_range).empty()) {
    in.fail("mlp_only_layers", "is not empty, which is not modelled for this family");
  }
  if (in.integer("decoder_sparse_step", size_range, 1) != 1) {
    in.fail("decoder_sparse_step", "is not 1, which is not modelled for this family");
  }
  constexpr std::array<std::string_view, 3> costless = {"mtp_use_dedicated_embeddings",
                                                        "mamba_ssm_dtype", "output_gate_type"};
  in.ignore(costless);
}

constexpr std::array part_words = {
    LayerWord{"linear_attention", 'M'}, LayerWord{"mamba", 'M'}, LayerWord{"full_attention", '*'},
    LayerWord{"attention", '*'},        LayerWord{"moe", 'E'},   LayerWord{"mlp", '-'}};

// A letter or a word for each layer of one part.
std::string read_one_part_layers(JsonFields& in, std::string_view letters_key,
                                 std::string_view words_key) {
  std::string letters = in.text(letters_key, "");
  const std::vector<std::string> words = in.texts(words_key);
  if (!words.empty()) letters.clear();
  for (const std::string& word : words) {
    const auto at = std::ranges::find(part_words, std::string_view(word), &LayerWord::word);
    if (at == part_words.end()) {
      in.fail(words_key, "has \"" + word + "\"",
              "linear_attention (or mamba), full_attention (or attention), moe and mlp are known");
      return {};
    }
    letters += at->letter;
  }
  if (letters.find_first_not_of("M*E-") == letters.npos) return letters;
  in.fail(letters_key, "has a letter that is not known", "M, *, E and - are known");
  return {};
}

void read_nemotron_experts(JsonFields& in, Transformer& m) {
  const std::int64_t count = in.integer("n_routed_experts", size_range, 8);
  const std::int64_t top_k = in.integer("num_experts_per_tok", size_range, 2);
  const std::int64_t width = in.integer("moe_intermediate_size", size_range, 7688);
  const std::int64_t latent = in.integer("moe_latent_size", count_range, 0);
  const std::int64_t shared = in.integer("n_shared_experts", count_range, 1);
  const std::int64_t of_shared =
      in.integer("moe_shared_expert_intermediate_size", count_range, 7688);
  if (m.pattern.find('E') == m.pattern.npos) return;
  m.experts = Experts{.count = count,
                      .top_k = top_k,
                      .feed_forward = width,
                      .latent = latent,
                      .shared_feed_forward = shared > 0 ? of_shared : 0,
                      .router_bias = true};
}

void ignore_nemotron_keys(JsonFields& in) {
  constexpr std::array<std::string_view, 21> costless = {"layer_types",
                                                         "num_logits_to_keep",
                                                         "use_mamba_kernels",
                                                         "mamba_hidden_act",
                                                         "expand",
                                                         "time_step_min",
                                                         "time_step_max",
                                                         "time_step_limit",
                                                         "time_step_floor",
                                                         "time_step_rank",
                                                         "use_conv_bias",
                                                         "mamba_ssm_cache_dtype",
                                                         "moe_shared_expert_overlap",
                                                         "routed_scaling_factor",
                                                         "n_group",
                                                         "topk_group",
                                                         "residual_in_fp32",
                                                         "rescale_prenorm_residual",
                                                         "sliding_window",
                                                         "norm_topk_prob",
                                                         "max_seq_len"};
  in.ignore(costless);
}

}  // namespace

void read_qwen3_5(JsonFields& in, Transformer& m) {
  read_common(in, m);
  read_gated_attention(in, m);
}

void read_qwen_tower(JsonFields& in, Transformer& m) {
  in.text("model_type");
  m.tower = Tower{.layers = in.integer("depth", size_range, 27),
                  .hidden = in.integer("hidden_size", size_range, 1152),
                  .heads = in.integer("num_heads", size_range, 16),
                  .feed_forward = in.integer("intermediate_size", size_range, 4304),
                  .patch = in.integer("patch_size", size_range, 16),
                  .channels = in.integer("in_channels", size_range, 3),
                  .frames = in.integer("temporal_patch_size", size_range, 2),
                  .merge = in.integer("spatial_merge_size", size_range, 2),
                  .positions = in.integer("num_position_embeddings", count_range, 2304)};
  if (in.integer("out_hidden_size", size_range, m.hidden) != m.hidden) {
    in.fail("out_hidden_size", "is not the hidden_size of text_config");
  }
  if (activation(in, "hidden_act", "gelu_pytorch_tanh") != Activation::gelu) {
    in.fail("hidden_act", "is no gelu, which is not modelled for this encoder");
  }
  if (!in.integers("deepstack_visual_indexes", count_range).empty()) {
    in.fail("deepstack_visual_indexes", "is not empty, which is not modelled");
  }
}

// Every layer has experts.
void read_qwen3_5_moe(JsonFields& in, Transformer& m) {
  read_common(in, m, false);
  read_gated_attention(in, m);
  m.experts =
      Experts{.count = in.integer("num_experts", size_range),
              .top_k = in.integer("num_experts_per_tok", size_range),
              .feed_forward = in.integer("moe_intermediate_size", size_range),
              .shared_feed_forward = in.integer("shared_expert_intermediate_size", size_range),
              .shared_gate = true};
}

// Queries, keys and values of linear attention have equal numbers of heads of one size. Its decay
// and its output gate pass through a rank of one head.
void read_kimi_linear(JsonFields& in, Transformer& m) {
  read_common(in, m);
  read_latent(in, m);
  const std::int64_t width = in.integer("moe_intermediate_size", size_range);
  const auto either = [&in](std::string_view key, std::string_view other, std::int64_t otherwise) {
    const auto a = in.optional_integer(key, count_range);
    const auto b = in.optional_integer(other, count_range);
    return a.value_or(b.value_or(otherwise));
  };
  const std::int64_t shared = either("n_shared_experts", "num_shared_experts", 1);
  m.experts = Experts{.count = either("num_local_experts", "num_experts", 256),
                      .top_k = either("num_experts_per_tok", "num_experts_per_token", 8),
                      .feed_forward = width,
                      .latent = in.integer("moe_latent_size", count_range, 0),
                      .shared_feed_forward = std::min(shared, std::int64_t{1} << 20) * width,
                      .first_dense_layers = in.integer("first_k_dense_replace", count_range, 1),
                      .router_bias = true};
  read_dense_layers(in, "mlp_layer_types", m);
  std::int64_t heads = in.integer("linear_num_heads", size_range, 32);
  std::int64_t size = in.integer("linear_head_dim", size_range, 128);
  std::int64_t kernel = in.integer("linear_conv_kernel_dim", size_range, 4);
  m.pattern = every_last(m.layers, 4);
  if (const JsonValue* part = in.find("linear_attn_config")) {
    JsonFields fields = in.inner("linear_attn_config", *part);
    heads = fields.integer("num_heads", size_range, heads);
    size = fields.integer("head_dim", size_range, size);
    kernel = fields.integer("short_conv_kernel_size", size_range, kernel);
    const std::vector<std::int64_t> whole = fields.integers("full_attn_layers", size_range);
    fields.find("kda_layers");  // all others
    if (!whole.empty()) std::ranges::fill(m.pattern, 'L');
    for (const std::int64_t layer : whole) {  // from 1
      const auto at = static_cast<std::size_t>(layer - 1);
      if (at < m.pattern.size()) m.pattern[at] = 'F';
    }
    fields.finish("is not understood and may change the cost");
  }
  read_types(in, "layer_types", linear_words, m);
  m.linear = LinearAttention{.key_heads = heads,
                             .value_heads = heads,
                             .key_size = size,
                             .value_size = size,
                             .convolution = kernel,
                             .gate_rank = size};
  note_prediction(in, m);
  constexpr std::array<std::string_view, 12> costless = {"model_max_length",
                                                         "moe_renormalize",
                                                         "num_expert_group",
                                                         "topk_group",
                                                         "n_group",
                                                         "qk_head_dim",
                                                         "head_dim",
                                                         "mla_use_nope",
                                                         "moe_router_activation_func",
                                                         "routed_scaling_factor",
                                                         "moe_layer_freq",
                                                         "use_grouped_topk"};
  must_be_false(in, "mlp_bias");
  must_be_false(in, "attention_bias");
  in.ignore(costless);
}

// Each layer is one part. num_hidden_layers follows from the list of them.
void read_nemotron_h(JsonFields& in, Transformer& m) {
  m.pattern = read_one_part_layers(in, "hybrid_override_pattern", "layers_block_type");
  in.optional_integer("num_hidden_layers", size_range);
  m.layers = static_cast<std::int64_t>(m.pattern.size());
  if (m.pattern.empty()) {
    in.fail("hybrid_override_pattern", "and layers_block_type are missing or wrong",
            "give one of them: it says what each layer is");
  }
  m.hidden = in.integer("hidden_size", size_range);
  m.heads = in.integer("num_attention_heads", size_range);
  m.kv_heads = in.integer("num_key_value_heads", size_range, 8);
  m.head_size = in.integer("head_dim", size_range, 128);
  m.feed_forward = in.integer("intermediate_size", count_range, 0);
  m.vocabulary = in.integer("vocab_size", size_range);
  const std::string act = in.text("mlp_hidden_act", "relu2");
  if (act != "relu2") in.fail("mlp_hidden_act", "is \"" + act + "\"", "relu2 is known");
  m.activation = Activation::relu;
  m.tied_embeddings = in.flag("tie_word_embeddings", false);
  m.norm = Norm::rms_norm;
  m.norm_bias = false;
  m.positions = Positions::none;
  m.qkv_bias = m.attention_output_bias = in.flag("attention_bias", false);
  m.feed_forward_bias = in.flag("mlp_bias", false);
  must_be_false(in, "mamba_proj_bias");
  must_be_false(in, "use_bias");
  no_attention_dropout(in);
  if (in.number("hidden_dropout", 0, 1, 0) != 0) {
    in.fail("hidden_dropout", "is not 0, which is not modelled for this family");
  }
  m.state_space = StateSpace{.heads = in.integer("mamba_num_heads", size_range, 128),
                             .head_size = in.integer("mamba_head_dim", size_range, 64),
                             .state = in.integer("ssm_state_size", size_range, 128),
                             .groups = in.integer("n_groups", size_range, 8),
                             .convolution = in.integer("conv_kernel", size_range, 4),
                             .chunk = in.integer("chunk_size", size_range, 128)};
  const std::string modules =
      read_one_part_layers(in, "mtp_hybrid_override_pattern", "mtp_layers_block_type");
  read_nemotron_experts(in, m);
  const std::int64_t predicted = in.integer("num_nextn_predict_layers", count_range, 0);
  if (predicted > 0) {
    m.prediction = TokenPrediction{
        .modules = predicted, .layers = modules.empty() ? "*E" : modules, .one_module = true};
  }
  ignore_nemotron_keys(in);
}

}  // namespace stepscope::hugging_face
