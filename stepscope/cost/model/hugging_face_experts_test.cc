// SPDX-License-Identifier: Apache-2.0
// Step-3.5: layers of other heads, a gate for each head, and lists that name layers.
#include <gtest/gtest.h>

#include "stepscope/cost/model/model_flops.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/cost/model/parameter_count.h"

namespace stepscope {
namespace {

// Sizes of the checkpoint Step-3.5-Flash. The last three layer_types are of its modules of
// multi-token prediction.
constexpr std::string_view step_json = R"({"architectures": ["Step3p5ForCausalLM"],
  "model_type": "step3p5", "hidden_size": 4096, "intermediate_size": 11264,
  "num_hidden_layers": 45, "num_attention_heads": 64, "num_attention_groups": 8, "head_dim": 128,
  "vocab_size": 128896, "max_position_embeddings": 262144, "rms_norm_eps": 1e-05,
  "att_impl_type": "GQA", "use_qk_norm": true, "use_head_wise_attn_gate": true,
  "use_moe": true, "moe_num_experts": 288, "moe_top_k": 8, "moe_intermediate_size": 1280,
  "share_expert_dim": 1280, "moe_every_n_layer": 1, "moe_layer_offset": 0,
  "moe_router_activation": "sigmoid", "moe_router_scaling_factor": 3.0,
  "use_moe_router_bias": true, "need_fp32_gate": true, "norm_expert_weight": true,
  "moe_layers_enum": "3, 4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,)"
                                       R"(27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44",
  "sliding_window": 512, "attention_other_setting": {"attention_type": "sliding_attention",
    "num_attention_heads": 96, "num_attention_groups": 8, "head_dim": 128},
  "rope_theta": [5000000.0, 10000.0], "partial_rotary_factors": [0.5, 1.0],
  "yarn_only_types": ["full_attention"], "num_nextn_predict_layers": 3, "zero_centered": true,
  "swiglu_limits": [0.0, 7.0], "swiglu_limits_shared": [0.0, 16.0], "use_rope_layers": [],
  "layer_types": ["full_attention", "sliding_attention", "sliding_attention", "sliding_attention",
    "full_attention", "sliding_attention", "sliding_attention", "sliding_attention",
    "full_attention", "sliding_attention", "sliding_attention", "sliding_attention",
    "full_attention", "sliding_attention", "sliding_attention", "sliding_attention",
    "full_attention", "sliding_attention", "sliding_attention", "sliding_attention",
    "full_attention", "sliding_attention", "sliding_attention", "sliding_attention",
    "full_attention", "sliding_attention", "sliding_attention", "sliding_attention",
    "full_attention", "sliding_attention", "sliding_attention", "sliding_attention",
    "full_attention", "sliding_attention", "sliding_attention", "sliding_attention",
    "full_attention", "sliding_attention", "sliding_attention", "sliding_attention",
    "full_attention", "sliding_attention", "sliding_attention", "sliding_attention",
    "full_attention", "sliding_attention", "sliding_attention", "sliding_attention"]})";

std::string changed_step(std::string_view from, std::string_view to) {
  std::string text(step_json);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

Transformer step(std::string_view json = step_json) {
  const auto m = parse_model(json, "config.json");
  EXPECT_TRUE(m) << (m ? "" : m.error().message());
  return m ? *m : Transformer{};
}

std::string step_complaint(std::string_view from, std::string_view to) {
  const auto m = parse_model(changed_step(from, to), "config.json");
  return m ? std::string() : m.error().message();
}

TEST(HuggingFaceStep, ReadsTheCheckpointLikeTheCatalogue) {
  const Transformer m = step();
  Transformer known = *find_model("step-3.5-flash");
  known.name = m.name;
  known.source = m.source;
  known.notes = m.notes;
  EXPECT_EQ(model_json(m), model_json(known));
  EXPECT_EQ(m.notes.size(), 1U) << "num_nextn_predict_layers";
}

// The checkpoint has 398,768,626,944 bytes, 3,167,748,096 of them copies of the head in its three
// modules (card of Megatron-Bridge). Its weights have two bytes, the routers' biases four. A module
// has a dense layer of 96 heads, a projection from 2 h, and three norms.
TEST(HuggingFaceStep, HasTheParametersOfTheCheckpoint) {
  const Transformer m = step();
  const std::int64_t h = 4096;
  const LayerParameters window = layer_parameters(m, 1);
  ASSERT_EQ(window.experts, 0);
  const std::int64_t modules = 3 * (window.total() + 2 * h * h + 3 * h);
  const std::int64_t all = parameter_count(m).total + modules;
  EXPECT_EQ(2 * all + 2 * 42 * 288, 398'768'626'944 - 3'167'748'096);
  EXPECT_EQ(window.attention, h * (96 + 16) * 128 + 96 * 128 * h + 2 * 128 + h * 96);
  EXPECT_EQ(layer_parameters(m, 4).attention,
            h * (64 + 16) * 128 + 64 * 128 * h + 2 * 128 + h * 64);
  EXPECT_NEAR(static_cast<double>(parameter_count(m).active), 11e9, 1e9);
}

TEST(HuggingFaceStep, ReadsLayersWithExpertsInEachForm) {
  const std::string list =
      "\"moe_layers_enum\": \"3, "
      "4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,"
      "36,37,38,39,40,41,42,43,44\"";
  EXPECT_EQ(step(changed_step(list, "\"max_seq_len\": 1")).experts->first_dense_layers, 3);
  const Transformer some = step(changed_step(list, "\"moe_layers_enum\": [0, 2]"));
  EXPECT_TRUE(has_experts(some, 0) && has_experts(some, 2));
  EXPECT_FALSE(has_experts(some, 1) || has_experts(some, 44));
  EXPECT_NE(step_complaint(list, "\"moe_layers_enum\": \"3,x\"").find("moe_layers_enum"),
            std::string::npos);
}

// All heads of layers with a window count: 33 of 96 heads, 12 of 64.
TEST(HuggingFaceStep, CountsPairsByTheHeadsOfTheirLayer) {
  const Transformer m = step();
  Transformer plain = m;
  plain.window_heads = 0;
  const double s = 8192, window = 512 * s - 512 * 512 / 2.0;
  const auto flops = [](const Transformer& of, FlopsConvention convention) {
    return model_flops(of, 8192, 8192, convention).per_step.value;
  };
  // A head has a column of each projection and of the gate.
  const double weights = 33 * 32 * 4096.0 * (2 * 128 + 1);
  EXPECT_NEAR(
      flops(m, FlopsConvention::causal_halved) - flops(plain, FlopsConvention::causal_halved),
      6 * weights * s + 33 * window * 6 * 32 * 256, 1e6);
  EXPECT_NEAR(flops(m, FlopsConvention::palm) - flops(plain, FlopsConvention::palm),
              6 * weights * s + 33 * s * s * 6 * 32 * 256, 1e7);
}

TEST(HuggingFaceStep, RefusesWhatItDoesNotUnderstandByName) {
  EXPECT_NE(step_complaint("\"num_attention_groups\": 8, \"head_dim\": 128}",
                           "\"num_attention_groups\": 4, \"head_dim\": 128}")
                .find("attention_other_setting"),
            std::string::npos);
  EXPECT_NE(
      step_complaint("\"att_impl_type\": \"GQA\"", "\"att_impl_type\": \"MFA\"").find("att_impl"),
      std::string::npos);
  EXPECT_NE(step_complaint("\"use_moe\": true", "\"use_moe\": true, \"sink\": true").find("sink"),
            std::string::npos);
  EXPECT_NE(
      step_complaint("\"num_hidden_layers\": 45", "\"num_hidden_layers\": 60").find("layer_types"),
      std::string::npos);
  EXPECT_NE(step_complaint("\"num_attention_heads\": 96", "\"num_attention_heads\": 90")
                .find("window_heads"),
            std::string::npos);
}

}  // namespace
}  // namespace stepscope
