// SPDX-License-Identifier: Apache-2.0
// DeepSeek-V4: the reader, the parameters, and the FLOPs.
#include <gtest/gtest.h>

#include "stepscope/cost/model/model_flops.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/cost/model/parameter_count.h"

namespace stepscope {
namespace {

// Sizes of the checkpoint DeepSeek-V4-Flash.
constexpr std::string_view flash_json = R"({"architectures": ["DeepseekV4ForCausalLM"],
  "attention_bias": false, "attention_dropout": 0.0, "expert_dtype": "fp4", "hc_eps": 1e-06,
  "hc_mult": 4, "hc_sinkhorn_iters": 20, "head_dim": 512, "hidden_act": "silu",
  "hidden_size": 4096, "index_head_dim": 128, "index_n_heads": 64, "index_topk": 512,
  "max_position_embeddings": 1048576, "model_type": "deepseek_v4",
  "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1,
  "norm_topk_prob": true, "num_attention_heads": 64, "num_experts_per_tok": 6,
  "num_hidden_layers": 43, "num_hash_layers": 3, "num_key_value_heads": 1,
  "num_nextn_predict_layers": 1, "o_groups": 8, "o_lora_rank": 1024, "q_lora_rank": 1024,
  "qk_rope_head_dim": 64, "quantization_config": {"quant_method": "fp8"},
  "rope_scaling": {"factor": 16, "type": "yarn"}, "rope_theta": 10000,
  "routed_scaling_factor": 1.5, "scoring_func": "sqrtsoftplus", "sliding_window": 128,
  "swiglu_limit": 10.0, "tie_word_embeddings": false, "topk_method": "noaux_tc",
  "vocab_size": 129280, "compress_rope_theta": 160000, "compress_ratios": [
    0, 0, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4,
    128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 0]})";

std::string changed_flash(std::string_view from, std::string_view to) {
  std::string text(flash_json);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

Transformer flash(std::string_view json = flash_json) {
  const auto m = parse_model(json, "config.json");
  EXPECT_TRUE(m) << (m ? "" : m.error().message());
  return m ? *m : Transformer{};
}

std::string flash_complaint(std::string_view from, std::string_view to) {
  const auto m = parse_model(changed_flash(from, to), "config.json");
  return m ? std::string() : m.error().message();
}

// The key of the ratios, and their list.
std::string ratios() {
  const std::size_t from = flash_json.find("\"compress_ratios\"");
  return std::string(flash_json.substr(from, flash_json.find(']', from) + 1 - from));
}

TEST(HuggingFaceDeepSeekV4, ReadsTheCheckpointLikeTheCatalogue) {
  const Transformer m = flash();
  Transformer known = *find_model("deepseek-v4-flash");
  known.name = m.name;
  known.source = m.source;
  known.notes = m.notes;
  EXPECT_EQ(model_json(m), model_json(known));
  EXPECT_EQ(m.notes.size(), 2U) << "quantization_config, num_nextn_predict_layers";
}

// What transformers writes says the same in other words.
TEST(HuggingFaceDeepSeekV4, ReadsTheLibrarysOwnKeys) {
  std::string types;
  std::string mlp;
  for (int i = 0; i < 43; ++i) {
    types += i == 0 ? "" : ", ";
    types += i < 2        ? "\"sliding_attention\""
             : i % 2 == 0 ? "\"compressed_sparse_attention\""
                          : "\"heavily_compressed_attention\"";
    mlp += std::string(i == 0 ? "" : ", ") + (i < 3 ? "\"hash_moe\"" : "\"moe\"");
  }
  std::string json = changed_flash(
      ratios(), "\"layer_types\": [" + types + "], \"mlp_layer_types\": [" + mlp +
                    "], \"compress_rates\": " + "{\"compressed_sparse_attention\": 4, " +
                    "\"heavily_compressed_attention\": 128}");
  json.replace(json.find("\"num_hash_layers\": 3"), 20, "\"hc_eps_unused\": 0");
  json.replace(json.find("\"hc_eps_unused\": 0, "), 20, "");
  json.replace(json.find("\"qk_rope_head_dim\": 64"), 22, "\"partial_rotary_factor\": 0.125");
  EXPECT_EQ(model_json(flash(json)), model_json(flash()));
}

TEST(HuggingFaceDeepSeekV4, WithoutAListHasTheLibrarysLayers) {
  const Transformer m = flash(changed_flash(ratios(), "\"compress_rate_csa\": 8"));
  EXPECT_EQ(m.pattern.substr(0, 7), "HHHCHCH");
  EXPECT_EQ(m.compressed->sparse_ratio, 8);
}

TEST(HuggingFaceDeepSeekV4, RefusesWhatItDoesNotUnderstandByName) {
  EXPECT_NE(flash_complaint("[\n    0, 0, 4", "[\n    0, 7, 4").find("compress_ratios"),
            std::string::npos);
  EXPECT_NE(
      flash_complaint("\"num_hidden_layers\": 43", "\"num_hidden_layers\": 50").find("50 layers"),
      std::string::npos);
  EXPECT_NE(flash_complaint("\"num_hash_layers\": 3", "\"mlp_layer_types\": [\"moe\"]")
                .find("mlp_layer_types"),
            std::string::npos);
  EXPECT_NE(
      flash_complaint("\"num_key_value_heads\": 1", "\"num_key_value_heads\": 2").find("kv_heads"),
      std::string::npos);
  EXPECT_NE(flash_complaint("\"o_groups\": 8", "\"o_groups\": 7").find("output_groups"),
            std::string::npos);
  EXPECT_NE(flash_complaint("\"hc_mult\": 4", "\"hc_mult\": 4, \"odd_part\": 1").find("odd_part"),
            std::string::npos);
}

// Published: 284 G and 1.6 T parameters. A token uses 13 G and 49 G of them, without the token
// table (model cards of both).
TEST(DeepSeekV4, HasThePublishedParameters) {
  const ParameterCount n = parameter_count(*find_model("deepseek-v4-flash"));
  EXPECT_NEAR(static_cast<double>(n.total), 284e9, 0.5e9);
  EXPECT_NEAR(static_cast<double>(n.active - n.tokens), 13e9, 0.5e9);
  const ParameterCount pro = parameter_count(*find_model("deepseek-v4-pro"));
  EXPECT_NEAR(static_cast<double>(pro.total), 1.6e12, 0.05e12);
  EXPECT_NEAR(static_cast<double>(pro.active - pro.tokens), 49e9, 0.5e9);
}

// By hand: one layer of each kind, and the end.
TEST(DeepSeekV4, HasTheParametersOfItsParts) {
  const Transformer m = *find_model("deepseek-v4-flash");
  const std::int64_t h = 4096, all = 64 * 512, d = 512;
  const std::int64_t attention =
      h * 1024 + 1024 + 1024 * all + h * d + d + all * 1024 + 8 * 1024 * h + 64;
  EXPECT_EQ(layer_parameters(m, 0).attention, attention);
  const std::int64_t dense = 2 * h * d + 128 * d + d;
  EXPECT_EQ(layer_parameters(m, 3).attention, attention + dense);
  const std::int64_t sparse = 2 * h * 2 * d + 4 * 2 * d + d;
  const std::int64_t index = 1024 * 64 * 128 + h * 64 + 2 * h * 256 + 4 * 256 + 128;
  EXPECT_EQ(layer_parameters(m, 2).attention, attention + sparse + index);
  const std::int64_t hyper = 24 * 4 * h + 24 + 3;
  EXPECT_EQ(layer_parameters(m, 0).norms, 2 * h + 2 * hyper);
  // The first three layers have no biases of the router.
  EXPECT_EQ(layer_parameters(m, 2).router, h * 256);
  EXPECT_EQ(layer_parameters(m, 3).router, h * 256 + 256);
  EXPECT_EQ(parameter_count(m).head, h * 129280 + h + 4 * 4 * h + 4 + 1);
}

// A module joins the next token with each stream, and ends in a sum of them.
TEST(DeepSeekV4, HasOneModuleOfMultiTokenPrediction) {
  Transformer m = *find_model("deepseek-v4-flash");
  m.prediction = TokenPrediction{.modules = 1, .layers = "W"};
  ASSERT_TRUE(check_model(m));
  const std::int64_t h = 4096;
  const LayerParameters layer = layer_parameters(m, 0);
  EXPECT_EQ(parameter_count(m).prediction,
            layer.total() + 256 + 2 * h * h + 3 * h + 4 * 4 * h + 4 + 1);
}

// Megatron-Bridge's count for a token (flop_utils, dsv4_hybrid), and what it leaves out: routers,
// the projections of the streams, and the products of the module with three further streams. It
// counts all pairs of the indexer, although the mask leaves half. A run of it printed 142.91
// Tflop/s a device for 10.4158 s on 64 devices with 256 sequences of 4096 tokens.
TEST(DeepSeekV4, HasTheFlopsThatMegatronBridgePrints) {
  Transformer m = *find_model("deepseek-v4-flash");
  m.prediction = TokenPrediction{.modules = 1, .layers = "W"};
  const double h = 4096, d = 512, all = 64 * d, s = 4096, v = 129280;
  const double window = 128 * (1 - 128 / (2 * s));
  const double chosen = 512 * (1 - 512 * 4 / (2 * s));
  const double layer = 1024 * (h + all) + h * d + all * 1024 + 8 * 1024 * h + 3 * h * 2048 * 7;
  const double sparse = 2 * h * 2 * d + 2 * h * 256 + 1024 * 64 * 128 + h * 64;
  const double index = 64 * 128 * s / 4;
  const double pairs = 2 * all * (44 * window + 21 * chosen) + 20 * all * s / 128;
  const double theirs =
      44 * layer + 21 * (sparse + index) + 20 * 2 * h * d + pairs + 2 * h * h + 2 * h * v;
  const double streams = 44 * 2 * 24 * 4 * h + 2 * 4 * 4 * h;
  const double beside = 44 * 256 * h + streams + 3 * h * h - 21 * index / 2;
  const double ours = model_flops(m, 1, 4096, FlopsConvention::causal_halved).per_step.value;
  EXPECT_NEAR(ours / (6 * (theirs + beside)), 1, 1e-12);
  const double printed = 142.91e12 * 64 * 10.4158 / (256 * 4096);
  EXPECT_NEAR(6 * theirs / printed, 1, 0.002);
  EXPECT_NEAR(ours / printed, 1, 0.01);
}

TEST(DeepSeekV4, CompressedKeysAreFewerThanTheChosenOnesInShortSequences) {
  const Transformer m = *find_model("deepseek-v4-flash");
  const double s = 1024;
  const double window = 128 * s - 128 * 128 / 2.0;
  EXPECT_DOUBLE_EQ(attention_pairs(m, 0, 1024), window);
  EXPECT_DOUBLE_EQ(attention_pairs(m, 2, 1024), window + s * s / 4 / 2);  // all 256 keys
  EXPECT_DOUBLE_EQ(attention_pairs(m, 3, 1024), window + s * s / 128 / 2);
  EXPECT_DOUBLE_EQ(attention_pairs(m, 2, 65536),
                   128 * 65536.0 - 128 * 128 / 2.0 + 512 * 65536.0 - 512 * 512 * 4 / 2.0);
}

TEST(DeepSeekV4, ChecksItsParts) {
  const Transformer good = *find_model("deepseek-v4-flash");
  const auto complaint_of = [&](auto change) {
    Transformer m = good;
    change(m);
    const auto checked = check_model(m);
    return checked ? std::string() : checked.error().message();
  };
  EXPECT_EQ(complaint_of([](Transformer&) {}), "");
  EXPECT_NE(complaint_of([](Transformer& m) { m.window.reset(); }).find("window"),
            std::string::npos);
  EXPECT_NE(complaint_of([](Transformer& m) { m.pattern[5] = 'F'; }).find("whole sequence"),
            std::string::npos);
  EXPECT_NE(complaint_of([](Transformer& m) { m.compressed.reset(); }).find("compressed"),
            std::string::npos);
  EXPECT_NE(complaint_of([](Transformer& m) { m.indexer.reset(); }).find("indexer"),
            std::string::npos);
  EXPECT_NE(complaint_of([](Transformer& m) { m.hyper->streams = 1; }).find("streams"),
            std::string::npos);
  EXPECT_NE(complaint_of([](Transformer& m) { m.parallel_block = true; }).find("parallel_block"),
            std::string::npos);
  EXPECT_NE(complaint_of([](Transformer& m) { m.qk_norm = true; }).find("qk_norm"),
            std::string::npos);
}

}  // namespace
}  // namespace stepscope
