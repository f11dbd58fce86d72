// SPDX-License-Identifier: Apache-2.0
// Configs as written by the libraries, reduced to keys that are read or known to cost nothing.
#include "stepscope/cost/model/hugging_face.h"

#include <gtest/gtest.h>

#include "stepscope/cost/model/model_json.h"
#include "stepscope/cost/model/parameter_count.h"

namespace stepscope {
namespace {

constexpr std::string_view llama = R"({"architectures": ["LlamaForCausalLM"],
  "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 128000, "hidden_act": "silu",
  "hidden_size": 4096, "initializer_range": 0.02, "intermediate_size": 14336,
  "max_position_embeddings": 8192, "model_type": "llama", "num_attention_heads": 32,
  "num_hidden_layers": 32, "num_key_value_heads": 8, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
  "rope_scaling": null, "rope_theta": 500000.0, "tie_word_embeddings": false,
  "torch_dtype": "bfloat16", "use_cache": true, "vocab_size": 128256})";
constexpr std::string_view mistral = R"({"architectures": ["MistralForCausalLM"],
  "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336, "model_type": "mistral",
  "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
  "sliding_window": 4096, "tie_word_embeddings": false, "vocab_size": 32000})";
constexpr std::string_view mixtral = R"({"architectures": ["MixtralForCausalLM"],
  "attention_dropout": 0.0, "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336,
  "model_type": "mixtral", "num_attention_heads": 32, "num_experts_per_tok": 2,
  "num_hidden_layers": 32, "num_key_value_heads": 8, "num_local_experts": 8,
  "output_router_logits": false, "router_aux_loss_coef": 0.02, "sliding_window": null,
  "vocab_size": 32000})";
constexpr std::string_view qwen = R"({"architectures": ["QWenLMHeadModel"], "model_type": "qwen",
  "attn_dropout_prob": 0.0, "bf16": false, "emb_dropout_prob": 0.0, "hidden_size": 4096,
  "intermediate_size": 22016, "kv_channels": 128, "no_bias": true, "num_attention_heads": 32,
  "num_hidden_layers": 32, "onnx_safe": null, "rotary_pct": 1.0, "seq_length": 8192,
  "use_flash_attn": "auto", "use_logn_attn": true, "vocab_size": 151936})";
constexpr std::string_view qwen2 = R"({"architectures": ["Qwen2ForCausalLM"],
  "attention_dropout": 0.0, "hidden_act": "silu", "hidden_size": 3584, "intermediate_size": 18944,
  "max_window_layers": 28, "model_type": "qwen2", "num_attention_heads": 28,
  "num_hidden_layers": 28, "num_key_value_heads": 4, "sliding_window": 131072,
  "use_sliding_window": false, "vocab_size": 152064})";
constexpr std::string_view qwen2_moe = R"({"architectures": ["Qwen2MoeForCausalLM"],
  "decoder_sparse_step": 1, "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 5632,
  "max_window_layers": 21, "model_type": "qwen2_moe", "moe_intermediate_size": 1408,
  "norm_topk_prob": false, "num_attention_heads": 16, "num_experts": 60, "num_experts_per_tok": 4,
  "num_hidden_layers": 24, "num_key_value_heads": 16, "router_aux_loss_coef": 0.001,
  "shared_expert_intermediate_size": 5632, "sliding_window": 32768, "use_sliding_window": false,
  "vocab_size": 151936})";
constexpr std::string_view qwen3 = R"({"architectures": ["Qwen3ForCausalLM"],
  "attention_bias": false, "head_dim": 128, "hidden_act": "silu", "hidden_size": 4096,
  "intermediate_size": 12288, "max_window_layers": 36, "model_type": "qwen3",
  "num_attention_heads": 32, "num_hidden_layers": 36, "num_key_value_heads": 8,
  "sliding_window": null, "use_sliding_window": false, "vocab_size": 151936})";
constexpr std::string_view qwen3_moe = R"({"architectures": ["Qwen3MoeForCausalLM"],
  "decoder_sparse_step": 1, "head_dim": 128, "hidden_act": "silu", "hidden_size": 2048,
  "intermediate_size": 6144, "max_window_layers": 48, "mlp_only_layers": [],
  "model_type": "qwen3_moe", "moe_intermediate_size": 768, "num_attention_heads": 32,
  "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 48, "num_key_value_heads": 4,
  "sliding_window": null, "use_sliding_window": false, "vocab_size": 151936})";
constexpr std::string_view deepseek_v2 = R"({"architectures": ["DeepseekV2ForCausalLM"],
  "attention_bias": false, "aux_loss_alpha": 0.001, "first_k_dense_replace": 1,
  "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 10944, "kv_lora_rank": 512,
  "model_type": "deepseek_v2", "moe_intermediate_size": 1408, "moe_layer_freq": 1, "n_group": 1,
  "n_routed_experts": 64, "n_shared_experts": 2, "num_attention_heads": 16,
  "num_experts_per_tok": 6, "num_hidden_layers": 27, "num_key_value_heads": 16,
  "q_lora_rank": null, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "topk_method": "greedy",
  "v_head_dim": 128, "vocab_size": 102400})";
constexpr std::string_view deepseek_v3 = R"({"architectures": ["DeepseekV3ForCausalLM"],
  "attention_bias": false, "attention_dropout": 0.0, "ep_size": 1, "first_k_dense_replace": 3,
  "hidden_act": "silu", "hidden_size": 7168, "intermediate_size": 18432, "kv_lora_rank": 512,
  "model_type": "deepseek_v3", "moe_intermediate_size": 2048, "moe_layer_freq": 1, "n_group": 8,
  "n_routed_experts": 256, "n_shared_experts": 1, "norm_topk_prob": true,
  "num_attention_heads": 128, "num_experts_per_tok": 8, "num_hidden_layers": 61,
  "num_key_value_heads": 128, "num_nextn_predict_layers": 1, "q_lora_rank": 1536,
  "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
  "quantization_config": {"fmt": "e4m3", "quant_method": "fp8"}, "routed_scaling_factor": 2.5,
  "scoring_func": "sigmoid", "topk_group": 4, "topk_method": "noaux_tc", "v_head_dim": 128,
  "vocab_size": 129280})";
constexpr std::string_view gpt2 = R"({"activation_function": "gelu_new",
  "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1, "embd_pdrop": 0.1,
  "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024, "n_embd": 1600, "n_head": 25,
  "n_layer": 48, "n_positions": 1024, "resid_pdrop": 0.1, "summary_type": "cls_index",
  "vocab_size": 50257})";
constexpr std::string_view gpt_neox = R"({"architectures": ["GPTNeoXForCausalLM"],
  "attention_probs_dropout_prob": 0, "hidden_act": "gelu_fast", "hidden_dropout_prob": 0,
  "hidden_size": 6144, "intermediate_size": 24576, "model_type": "gpt_neox",
  "num_attention_heads": 64, "num_hidden_layers": 44, "rotary_emb_base": 10000, "rotary_pct": 0.25,
  "tie_word_embeddings": false, "vocab_size": 50432})";
constexpr std::string_view bloom = R"({"apply_residual_connection_post_layernorm": false,
  "architectures": ["BloomForCausalLM"], "attention_dropout": 0.0, "hidden_dropout": 0.0,
  "masked_softmax_fusion": true, "model_type": "bloom", "n_embed": 14336, "n_inner": null,
  "n_layer": 70, "num_attention_heads": 112, "pretraining_tp": 4, "slow_but_exact": false,
  "vocab_size": 250880})";
constexpr std::string_view mpt = R"({"architectures": ["MPTForCausalLM"],
  "attn_config": {"alibi": true, "alibi_bias_max": 8, "attn_impl": "torch", "attn_pdrop": 0,
  "attn_type": "multihead_attention", "attn_uses_sequence_id": false, "clip_qkv": null,
  "prefix_lm": false, "qk_ln": false, "softmax_scale": null}, "d_model": 4096, "emb_pdrop": 0,
  "expansion_ratio": 4, "init_config": {"name": "kaiming_normal_"}, "init_device": "cpu",
  "learned_pos_emb": true, "logit_scale": null, "max_seq_len": 2048, "model_type": "mpt",
  "n_heads": 32, "n_layers": 32, "no_bias": true, "norm_type": "low_precision_layernorm",
  "resid_pdrop": 0, "verbose": 0, "vocab_size": 50432})";
constexpr std::string_view bert = R"({"architectures": ["BertModel"],
  "attention_probs_dropout_prob": 0.1, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
  "hidden_size": 1024, "intermediate_size": 4096, "max_position_embeddings": 512,
  "model_type": "bert", "num_attention_heads": 16, "num_hidden_layers": 24,
  "position_embedding_type": "absolute", "type_vocab_size": 2, "vocab_size": 30522})";
constexpr std::string_view vit = R"({"architectures": ["ViTForImageClassification"],
  "attention_probs_dropout_prob": 0.0, "hidden_act": "gelu", "hidden_dropout_prob": 0.0,
  "hidden_size": 1024, "image_size": 224, "intermediate_size": 4096, "model_type": "vit",
  "num_attention_heads": 16, "num_channels": 3, "num_hidden_layers": 24, "num_labels": 1000,
  "patch_size": 16, "qkv_bias": true})";

Transformer read(std::string_view json) {
  auto model = parse_model(json, "config.json");
  EXPECT_TRUE(model) << model.error().message();
  return model ? *std::move(model) : Transformer{};
}

// The error message for `json` with `from` replaced by `to`.
std::string complaint(std::string_view json, std::string_view from, std::string_view to) {
  std::string text(json);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const auto model = parse_model(text, "config.json");
  return model ? "" : model.error().message();
}

struct Known {
  std::string_view name;
  std::string_view json;
  std::int64_t parameters;
};
class Config : public ::testing::TestWithParam<Known> {};

TEST_P(Config, GivesThePublishedParameters) {
  EXPECT_EQ(parameter_count(read(GetParam().json)).total, GetParam().parameters);
}
// Sources as in parameter_count_test.cc; Qwen-7B: DeepSpeed's table of models; Qwen1.5-MoE and
// BERT-large: keras-hub's presets; Qwen3-8B: its safetensors metadata.
INSTANTIATE_TEST_SUITE_P(
    HuggingFace, Config,
    ::testing::Values(
        Known{"llama", llama, 8'030'261'248}, Known{"mistral", mistral, 7'241'732'096},
        Known{"mixtral", mixtral, 46'702'792'704}, Known{"qwen", qwen, 7'721'324'544},
        Known{"qwen2", qwen2, 7'615'616'512}, Known{"qwen2_moe", qwen2_moe, 14'315'784'192},
        Known{"qwen3", qwen3, 8'190'735'360}, Known{"qwen3_moe", qwen3_moe, 30'532'122'624},
        Known{"deepseek_v2", deepseek_v2, 15'706'484'224},
        Known{"deepseek_v3", deepseek_v3, 671'026'419'200}, Known{"gpt2", gpt2, 1'557'611'200},
        Known{"gpt_neox", gpt_neox, 20'554'567'680}, Known{"bloom", bloom, 176'247'271'424},
        Known{"bert", bert, 335'141'888}, Known{"vit", vit, 304'326'632}),
    [](const auto& known) { return std::string(known.param.name); });

// Must equal the catalogue's entry of the same model, except for its name and source. Source:
// transformers, Qwen3MoeDecoderLayer: experts unless the layer is listed, and only in every
// decoder_sparse_step-th layer.
TEST(HuggingFace, QwenNamesLayersWithoutExperts) {
  std::string json(qwen3_moe);
  json.replace(json.find("\"mlp_only_layers\": []"), 21, "\"mlp_only_layers\": [0, 3, 47, 99]");
  const auto some = parse_model(json, "config.json");
  ASSERT_TRUE(some) << some.error().message();
  const auto all = parse_model(qwen3_moe, "config.json");
  EXPECT_TRUE(has_experts(*all, 3));
  for (const std::int64_t layer : {0, 3, 47}) EXPECT_FALSE(has_experts(*some, layer)) << layer;
  EXPECT_TRUE(has_experts(*some, 1));
  const std::int64_t experts = std::int64_t{128} * (3 * 2048 * 768 + 2048);
  const std::int64_t dense = std::int64_t{3} * 2048 * 6144;
  EXPECT_EQ(parameter_count(*some).total, 30'532'122'624 - 3 * (experts - dense));
  json.replace(json.find("\"decoder_sparse_step\": 1"), 24, "\"decoder_sparse_step\": 2");
  const auto second = parse_model(json, "config.json");
  EXPECT_EQ(parameter_count(*second).total, 30'532'122'624 - 26 * (experts - dense))
      << "24 even ones, 3 and 47";
}

TEST(HuggingFace, AgreesWithTheCatalogue) {
  for (const auto& [json, name] : {std::pair{llama, "llama-3-8b"},
                                   {mistral, "mistral-7b"},
                                   {mixtral, "mixtral-8x7b"},
                                   {qwen2, "qwen2.5-7b"},
                                   {qwen3_moe, "qwen3-30b-a3b"},
                                   {deepseek_v2, "deepseek-v2-lite"},
                                   {deepseek_v3, "deepseek-v3"},
                                   {gpt2, "gpt2-xl"},
                                   {gpt_neox, "gpt-neox-20b"},
                                   {bloom, "bloom-176b"},
                                   {vit, "vit-l-16"}}) {
    Transformer m = read(json);
    Transformer known = *find_model(name);
    known.name = m.name;
    known.source = m.source;
    known.notes = m.notes;
    EXPECT_EQ(model_json(m), model_json(known)) << name;
  }
}

TEST(HuggingFace, SaysWhatItLeftOut) {
  ASSERT_EQ(read(deepseek_v3).notes.size(), 2U);
  EXPECT_NE(read(deepseek_v3).notes[0].find("num_nextn_predict_layers"), std::string::npos);
  EXPECT_TRUE(read(llama).notes.empty());
}

TEST(HuggingFace, RefusesWhatItDoesNotUnderstandByName) {
  EXPECT_EQ(complaint(llama, "\"use_cache\"", "\"cross_layer_sharing\""),
            "config.json: line 7, column 30: field \"cross_layer_sharing\" is not understood for "
            "\"llama\" and may change the cost; take it out if it costs nothing; otherwise "
            "describe the model in stepscope's own JSON (docs/reference/models.md)");
  EXPECT_NE(complaint(llama, "\"llama\"", "\"gemma9\"").find("\"gemma9\", a family that is not"),
            std::string::npos);
  EXPECT_NE(complaint(llama, "LlamaForCausalLM", "LlamaForSequenceClassification")
                .find("LlamaForSequenceClassification, whose head"),
            std::string::npos);
  EXPECT_NE(complaint(llama, "\"silu\"", "\"xielu\"").find("\"xielu\""), std::string::npos);
  EXPECT_NE(complaint(llama, "\"attention_dropout\": 0.0", "\"attention_dropout\": 0.1")
                .find("attention_dropout"),
            std::string::npos);
  EXPECT_NE(complaint(gpt2, "\"resid_pdrop\": 0.1", "\"resid_pdrop\": 0.2").find("resid_pdrop"),
            std::string::npos);
  EXPECT_NE(complaint(mpt, "\"qk_ln\": false", "\"qk_ln\": true").find("\"attn_config.qk_ln\""),
            std::string::npos);
  EXPECT_NE(complaint(mpt, "\"clip_qkv\"", "\"new_thing\"").find("\"attn_config.new_thing\""),
            std::string::npos);
  EXPECT_NE(complaint(deepseek_v3, "\"moe_layer_freq\": 1", "\"moe_layer_freq\": 2")
                .find("moe_layer_freq"),
            std::string::npos);
  EXPECT_NE(complaint(qwen3_moe, "\"mlp_only_layers\": []", "\"mlp_only_layers\": [-3]")
                .find("mlp_only_layers"),
            std::string::npos);
  EXPECT_NE(complaint(llama, "\"hidden_size\": 4096", "\"hidden_size\": 4095")
                .find("does not divide hidden_size"),
            std::string::npos);
  EXPECT_NE(complaint(llama, "\"vocab_size\": 128256", "\"vocab_size\": 0").find("vocab_size"),
            std::string::npos);
  EXPECT_NE(complaint(llama, "\"num_hidden_layers\": 32, ", "").find("\"num_hidden_layers\" is mi"),
            std::string::npos);
}

TEST(HuggingFace, ReadsWindowsOfSomeLayers) {
  const auto with_types = [](std::string_view types) {
    std::string json(qwen3);
    json.replace(json.find("\"num_hidden_layers\": 36"), 23,
                 "\"num_hidden_layers\": 4, \"layer_types\": " + std::string(types));
    json.replace(json.find("\"sliding_window\": null"), 22, "\"sliding_window\": 512");
    return json;
  };
  EXPECT_FALSE(read(with_types(R"(["full_attention", "full_attention", "full_attention",
                                   "full_attention"])"))
                   .window);
  const Transformer every = read(with_types(R"(["sliding_attention", "full_attention",
                                                "sliding_attention", "full_attention"])"));
  EXPECT_EQ(every.window, 512);
  EXPECT_EQ(every.window_every, 2);
  const Transformer odd = read(with_types(R"(["full_attention", "sliding_attention",
                                              "sliding_attention", "full_attention"])"));
  EXPECT_EQ(odd.pattern, "FWWF");
  EXPECT_FALSE(parse_model(with_types(R"(["full_attention", "chunked_attention",
                                          "sliding_attention", "full_attention"])"),
                           "config.json"));
  EXPECT_FALSE(parse_model(with_types(R"(["full_attention"])"), "config.json"));
}

TEST(HuggingFace, ReadsMptsPositionsAndHeads) {
  const Transformer m = read(mpt);
  EXPECT_EQ(m.positions, Positions::alibi);
  EXPECT_FALSE(m.norm_bias);
  std::string json(mpt);
  json.replace(json.find("\"alibi\": true"), 13, "\"alibi\": false");
  json.replace(json.find("multihead_attention"), 19, "multiquery_attention");
  EXPECT_EQ(read(json).positions, Positions::learned);
  EXPECT_EQ(read(json).kv_heads, 1);
}

TEST(HuggingFace, TellsBertsHeads) {
  EXPECT_FALSE(read(bert).head);
  std::string json(bert);
  json.replace(json.find("BertModel"), 9, "BertForMaskedLM");
  EXPECT_EQ(parameter_count(read(json)).total, 335'174'458);
}

}  // namespace
}  // namespace stepscope
