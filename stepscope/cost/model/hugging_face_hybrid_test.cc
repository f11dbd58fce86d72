// SPDX-License-Identifier: Apache-2.0
// Configs of 2025 and 2026 (sizes as published, without keys that cost nothing) must equal the
// catalogue's entries, except for names and sources.
#include <gtest/gtest.h>

#include <utility>

#include "stepscope/cost/model/model_flops.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/cost/model/parameter_count.h"

namespace stepscope {
namespace {

constexpr std::string_view gpt_oss_json = R"({"architectures": ["GptOssForCausalLM"],
  "model_type": "gpt_oss", "attention_bias": true, "attention_dropout": 0.0,
  "experts_per_token": 4, "head_dim": 64, "hidden_act": "silu", "hidden_size": 2880,
  "initial_context_length": 4096, "intermediate_size": 2880,
  "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention",
    "sliding_attention", "full_attention", "sliding_attention", "full_attention",
    "sliding_attention", "full_attention", "sliding_attention", "full_attention",
    "sliding_attention", "full_attention", "sliding_attention", "full_attention",
    "sliding_attention", "full_attention", "sliding_attention", "full_attention",
    "sliding_attention", "full_attention", "sliding_attention", "full_attention"],
  "max_position_embeddings": 131072, "num_attention_heads": 64, "num_experts_per_tok": 4,
  "num_hidden_layers": 24, "num_key_value_heads": 8, "num_local_experts": 32,
  "quantization_config": {"quant_method": "mxfp4"}, "router_aux_loss_coef": 0.9,
  "sliding_window": 128, "swiglu_limit": 7.0, "tie_word_embeddings": false,
  "vocab_size": 201088})";

constexpr std::string_view glm_json = R"({"architectures": ["GlmMoeDsaForCausalLM"],
  "model_type": "glm_moe_dsa", "attention_bias": false, "first_k_dense_replace": 3,
  "hidden_act": "silu", "head_dim": 64, "hidden_size": 6144, "index_head_dim": 128,
  "index_n_heads": 32, "index_topk": 2048, "index_topk_freq": 4, "index_skip_topk_offset": 3,
  "indexer_rope_interleave": true, "intermediate_size": 12288, "kv_lora_rank": 512,
  "moe_intermediate_size": 2048, "moe_layer_freq": 1, "n_group": 1, "n_routed_experts": 256,
  "n_shared_experts": 1, "num_attention_heads": 64, "num_experts_per_tok": 8,
  "num_hidden_layers": 78, "num_key_value_heads": 64, "num_nextn_predict_layers": 1,
  "q_lora_rank": 2048, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "qk_head_dim": 256,
  "routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "tie_word_embeddings": false,
  "topk_group": 1, "topk_method": "noaux_tc", "v_head_dim": 256, "vocab_size": 154880})";

constexpr std::string_view kimi_k2_json = R"({"architectures": ["DeepseekV3ForCausalLM"],
  "model_type": "kimi_k2", "first_k_dense_replace": 1, "hidden_act": "silu", "hidden_size": 7168,
  "intermediate_size": 18432, "kv_lora_rank": 512, "moe_intermediate_size": 2048,
  "moe_layer_freq": 1, "n_group": 1, "n_routed_experts": 384, "n_shared_experts": 1,
  "num_attention_heads": 64, "num_experts_per_tok": 8, "num_hidden_layers": 61,
  "num_key_value_heads": 64, "num_nextn_predict_layers": 0, "q_lora_rank": 1536,
  "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "scoring_func": "sigmoid",
  "tie_word_embeddings": false, "topk_group": 1, "topk_method": "noaux_tc", "v_head_dim": 128,
  "vocab_size": 163840})";

constexpr std::string_view minimax_json = R"({"architectures": ["MiniMaxM2ForCausalLM"],
  "model_type": "minimax_m2", "attention_dropout": 0.0, "head_dim": 128, "hidden_act": "silu",
  "hidden_size": 3072, "intermediate_size": 1536, "num_attention_heads": 48,
  "num_experts_per_tok": 8, "num_hidden_layers": 62, "num_key_value_heads": 8,
  "num_local_experts": 256, "num_mtp_modules": 3, "qk_norm_type": "per_layer", "rotary_dim": 64,
  "scoring_func": "sigmoid", "shared_intermediate_size": 0, "tie_word_embeddings": false,
  "use_mtp": true, "use_qk_norm": true, "use_routing_bias": true, "vocab_size": 200064})";

constexpr std::string_view nemotron_json = R"({"architectures": ["NemotronHForCausalLM"],
  "model_type": "nemotron_h", "attention_bias": false, "attention_dropout": 0.0,
  "chunk_size": 128, "conv_kernel": 4, "expand": 2, "head_dim": 128, "hidden_dropout": 0.0,
  "hidden_size": 2688,
  "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
  "mamba_head_dim": 64, "mamba_hidden_act": "silu", "mamba_num_heads": 64,
  "mamba_proj_bias": false, "mlp_bias": false, "mlp_hidden_act": "relu2",
  "moe_intermediate_size": 1856, "moe_shared_expert_intermediate_size": 3712, "n_group": 1,
  "n_groups": 8, "n_routed_experts": 128, "n_shared_experts": 1, "norm_topk_prob": true,
  "num_attention_heads": 32, "num_experts_per_tok": 6, "num_hidden_layers": 52,
  "num_key_value_heads": 2, "residual_in_fp32": false, "routed_scaling_factor": 2.5,
  "ssm_state_size": 128, "tie_word_embeddings": false, "time_step_limit": [0.0, 1.0],
  "topk_group": 1, "use_bias": false, "use_conv_bias": true, "vocab_size": 131072})";

constexpr std::string_view qwen_json = R"({"architectures": ["Qwen3_5MoeForConditionalGeneration"],
  "model_type": "qwen3_5_moe", "image_token_id": 248056, "tie_word_embeddings": false,
  "text_config": {"model_type": "qwen3_5_moe_text", "attention_bias": false,
    "attention_dropout": 0.0, "attn_output_gate": true, "full_attention_interval": 4,
    "head_dim": 256, "hidden_act": "silu", "hidden_size": 2048, "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
    "linear_value_head_dim": 128, "moe_intermediate_size": 512, "mtp_num_hidden_layers": 1,
    "num_attention_heads": 16, "num_experts": 256, "num_experts_per_tok": 8,
    "num_hidden_layers": 40, "num_key_value_heads": 2, "shared_expert_intermediate_size": 512,
    "tie_word_embeddings": false, "vocab_size": 248320},
  "vision_config": {"model_type": "qwen3_5_moe", "depth": 27}})";

Transformer read_config(std::string_view json) {
  const auto m = parse_model(json, "config.json");
  EXPECT_TRUE(m) << (m ? "" : m.error().message());
  return m ? *m : Transformer{};
}

std::string changed(std::string_view json, std::string_view from, std::string_view to) {
  std::string text(json);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(HuggingFaceHybrid, ReadsModelsOf2026LikeTheCatalogue) {
  for (const auto& [json, name] : {std::pair{gpt_oss_json, "gpt-oss-20b"},
                                   {glm_json, "glm-5.2"},
                                   {kimi_k2_json, "kimi-k2"},
                                   {minimax_json, "minimax-m2"},
                                   {nemotron_json, "nemotron-3-nano-30b-a3b"},
                                   {qwen_json, "qwen3.6-35b-a3b"}}) {
    const Transformer m = read_config(json);
    Transformer known = *find_model(name);
    known.name = m.name;
    known.source = m.source;
    known.notes = m.notes;
    known.feed_forward = m.feed_forward;  // a leftover, if every layer has experts
    known.tower = m.tower;                // the catalogue has the language model
    EXPECT_EQ(model_json(m), model_json(known)) << name;
    EXPECT_EQ(parameter_count(m).total - parameter_count(m).tower,
              parameter_count(*find_model(name)).total)
        << name;
  }
}

TEST(HuggingFaceHybrid, SaysWhatItLeftOut) {
  const Transformer m = read_config(qwen_json);
  ASSERT_EQ(m.notes.size(), 1U);
  EXPECT_NE(m.notes[0].find("mtp_num_hidden_layers"), std::string::npos);
  ASSERT_TRUE(m.tower);
  // An encoder that is not known is left out.
  const Transformer other =
      read_config(changed(qwen_json, "{\"model_type\": \"qwen3_5_moe\", \"depth\"",
                          "{\"model_type\": \"siglip\", \"depth\""));
  EXPECT_FALSE(other.tower);
  ASSERT_EQ(other.notes.size(), 2U);
  EXPECT_NE(other.notes[0].find("vision_config"), std::string::npos);
  EXPECT_TRUE(read_config(kimi_k2_json).notes.empty());
  EXPECT_EQ(read_config(glm_json).notes.size(), 1U);
}

TEST(HuggingFaceHybrid, ReadsNemotronsModules) {
  const Transformer m = read_config(
      changed(nemotron_json, "\"norm_topk_prob\": true",
              "\"num_nextn_predict_layers\": 2, \"mtp_hybrid_override_pattern\": \"*E\""));
  EXPECT_EQ(parameter_count(m).total,
            parameter_count(*find_model("nemotron-3.5-lightning-30b-a3b")).total);
  // The same layers as a list of words.
  std::string words;
  for (const char c : read_config(nemotron_json).pattern) {
    const std::string_view word = c == 'M' ? "mamba" : c == '*' ? "attention" : "moe";
    words += (words.empty() ? "[\"" : ", \"") + std::string(word) + "\"";
  }
  const std::string listed =
      changed(nemotron_json,
              R"("hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*)"
              R"(EMEMEMEM*EMEMEMEME")",
              "\"layers_block_type\": " + words + "]");
  EXPECT_EQ(read_config(listed).pattern, read_config(nemotron_json).pattern);
}

TEST(HuggingFaceHybrid, ReadsGemmasWindows) {
  constexpr std::string_view gemma = R"({"architectures": ["Gemma3ForCausalLM"],
    "model_type": "gemma3_text", "attention_bias": false, "attention_dropout": 0.0,
    "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 1152,
    "intermediate_size": 6912, "num_attention_heads": 4, "num_hidden_layers": 26,
    "num_key_value_heads": 1, "query_pre_attn_scalar": 256, "rope_local_base_freq": 10000,
    "sliding_window": 512, "sliding_window_pattern": 6, "vocab_size": 262144})";
  const Transformer m = read_config(gemma);
  EXPECT_EQ(m.pattern.substr(0, 12), "WWWWWFWWWWWF");
  EXPECT_EQ(parameter_count(m).total, 999'885'952);  // gemma-3-1b
  EXPECT_TRUE(m.tied_embeddings);
  // Five windows of 512 for one whole sequence.
  EXPECT_LT(sequence_flops(m, 8192, FlopsConvention::causal_halved),
            sequence_flops(read_config(changed(gemma, "512", "8192")), 8192,
                           FlopsConvention::causal_halved));
}

TEST(HuggingFaceHybrid, ReadsKimisDeltaAttention) {
  constexpr std::string_view kimi = R"({"architectures": ["KimiLinearForCausalLM"],
    "model_type": "kimi_linear", "first_k_dense_replace": 1, "head_dim": 72,
    "hidden_act": "silu", "hidden_size": 2304, "intermediate_size": 9216, "kv_lora_rank": 512,
    "linear_attn_config": {"full_attn_layers": [4, 8, 12, 16, 20, 24, 27], "head_dim": 128,
      "kda_layers": [1, 2, 3], "num_heads": 32, "short_conv_kernel_size": 4},
    "mla_use_nope": true, "model_max_length": 1048576, "moe_intermediate_size": 1024,
    "moe_layer_freq": 1, "moe_renormalize": true, "moe_router_activation_func": "sigmoid",
    "num_attention_heads": 32, "num_expert_group": 1, "num_experts": 256,
    "num_experts_per_token": 8, "num_hidden_layers": 27, "num_key_value_heads": 32,
    "num_nextn_predict_layers": 0, "num_shared_experts": 1, "q_lora_rank": null,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "tie_word_embeddings": false,
    "topk_group": 1, "use_grouped_topk": true, "v_head_dim": 128, "vocab_size": 163840})";
  const Transformer m = read_config(kimi);
  EXPECT_EQ(m.pattern, "LLLFLLLFLLLFLLLFLLLFLLLFLLF");
  EXPECT_EQ(m.linear->gate_rank, 128);
  // Kimi-Linear-48B-A3B.
  EXPECT_NEAR(static_cast<double>(parameter_count(m).total), 49.1e9, 0.2e9);
}

TEST(HuggingFaceHybrid, RefusesWhatItDoesNotUnderstandByName) {
  const auto complaint = [](std::string_view json, std::string_view from, std::string_view to) {
    const auto m = parse_model(changed(json, from, to), "config.json");
    return m ? std::string() : m.error().message();
  };
  EXPECT_NE(complaint(nemotron_json, "MEMEM*", "MEMEX*").find("hybrid_override_pattern"),
            std::string::npos);
  EXPECT_NE(complaint(nemotron_json, "\"relu2\"", "\"silu\"").find("mlp_hidden_act"),
            std::string::npos);
  EXPECT_NE(
      complaint(glm_json, "\"index_n_heads\": 32", "\"index_n_heads\": 0").find("index_n_heads"),
      std::string::npos);
  EXPECT_NE(
      complaint(qwen_json, "\"depth\": 27}", "\"depth\": 27}, \"odd_tower\": 1").find("odd_tower"),
      std::string::npos);
  EXPECT_NE(complaint(qwen_json, "\"num_experts\": 256", "\"num_experts\": 256, \"odd_part\": 1")
                .find("odd_part"),
            std::string::npos);
  EXPECT_NE(
      complaint(minimax_json, "\"shared_intermediate_size\": 0", "\"shared_intermediate_size\": 8")
          .find("shared_intermediate_size"),
      std::string::npos);
}

}  // namespace
}  // namespace stepscope
