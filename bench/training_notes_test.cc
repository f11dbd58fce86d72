// SPDX-License-Identifier: Apache-2.0
#include "training_notes.h"

#include <gtest/gtest.h>

#include "training_recipes.h"

namespace stepscope::bench {
namespace {

std::string name_of(std::string_view row, std::int64_t layers = 0, std::int64_t hidden = 0) {
  const Transformer* m = published_architecture(row, layers, hidden);
  return m == nullptr ? "" : m->name;
}

TEST(TrainingNotes, FindsArchitecturesByNameAndSizes) {
  EXPECT_EQ(name_of("Qwen3_30B_a3B (tokendrop)", 48, 2048), "qwen3-30b-a3b");
  EXPECT_EQ(name_of("DeepSeekV3 (w/ MTP)", 61, 7168), "deepseek-v3");
  EXPECT_EQ(name_of("GPT OSS 120B", 36, 2880), "gpt-oss-120b");
  EXPECT_EQ(name_of("Kimi_K2"), "kimi-k2");
  EXPECT_EQ(name_of("Nemotron_3_Super"), "nemotron-3-super-120b-a12b");
  // Other sizes, or only a part of the name: another model.
  EXPECT_EQ(name_of("Qwen3_30B_a3B", 24, 2048), "");
  EXPECT_EQ(name_of("GPT-2.5B", 24, 1920), "");
  EXPECT_EQ(name_of("Kimi_K2_mini"), "");
}

TEST(TrainingNotes, CutsAnArchitectureToTheLayersOfARun) {
  const auto cut = [](std::string_view name, std::int64_t layers, std::string_view notes) {
    return cut_architecture(name, layers, 4096, notes);
  };
  constexpr std::string_view name = "deepseek-v4-flash (16 layers)";
  const auto m = cut(name, 16, "cr pattern 0 x3, 4 x6, 128 x7; recompute full");
  ASSERT_TRUE(m);
  EXPECT_EQ(m->pattern, "WWWCCCCCCHHHHHHH");
  EXPECT_EQ(m->layers, 16);
  EXPECT_TRUE(check_model(*m));
  EXPECT_EQ(cut(name, 16, "")->pattern, "WWCHCHCHCHCHCHCH");
  // A ratio that the model does not know, or another number of layers than stated: no model.
  EXPECT_FALSE(cut(name, 16, "cr pattern 0 x3, 5 x6, 128 x7"));
  EXPECT_FALSE(cut(name, 16, "cr pattern 0 x3, 4 x6"));
  EXPECT_FALSE(cut(name, 15, ""));
  EXPECT_FALSE(cut("deepseek-v4-flash", 16, ""));
  EXPECT_FALSE(cut_architecture(name, 16, 2048, ""));
}

TEST(TrainingNotes, ReadsTheSettingsOfARun) {
  const StatedSettings s = stated_settings(
      "dispatcher flex/hybridep; etp 1; cuda graph: full_iteration ; grad_reduce_in_fp32=false; "
      "overlap_moe_expert_parallel_comm=true; mtp layers 2; ddp bucket 768000000;");
  EXPECT_EQ(s.cuda_graphs, CudaGraphs::step);
  EXPECT_EQ(s.dispatch, ExpertDispatch::forwarded);
  EXPECT_EQ(s.expert_tp, 1);
  EXPECT_EQ(s.overlap_expert, true);
  EXPECT_EQ(s.bucket, 768'000'000);
  EXPECT_EQ(s.half_gradients, true);
  EXPECT_TRUE(s.predicts);
  EXPECT_FALSE(s.drops_tokens || s.narrow_attention);
  EXPECT_TRUE(stated_settings("token-drop moe benchmark").drops_tokens);
  EXPECT_FALSE(stated_settings("token-dropless moe").drops_tokens);
  EXPECT_FALSE(stated_settings("attention not fp8").narrow_attention);
  EXPECT_TRUE(stated_settings("paged stashing; lm head in mxfp8; fp8 attention").narrow_head);
  EXPECT_FALSE(stated_settings("lm head in bf16").narrow_head);
  EXPECT_FALSE(stated_settings("ddp bucket 200 (yaml default)").bucket);
  EXPECT_FALSE(stated_settings("").cuda_graphs);
  const StatedSettings submitted = stated_settings(
      "peak_mem_gb is torch max_memory_allocated in gib; params gathered in fp8; grads reduced in "
      "bf16; overlap_grad_reduce=true, overlap_param_gather=false; tp_comm_overlap=false; adam "
      "moments bfloat16");
  EXPECT_TRUE(submitted.memory_in_gib && submitted.narrow_parameters);
  EXPECT_EQ(submitted.half_gradients, true);
  EXPECT_EQ(submitted.half_moments, true);
  EXPECT_EQ(submitted.overlap_gradients, true);
  EXPECT_EQ(submitted.overlap_parameters, false);
  EXPECT_EQ(submitted.overlap_tensor, false);
  EXPECT_EQ(stated_settings("grad_reduce_in_fp32=true").half_gradients, false);
  EXPECT_FALSE(stated_settings("").half_gradients || stated_settings("").half_moments);
}

TEST(TrainingNotes, ReadsRecomputedModules) {
  const auto modules = stated_modules("selective (moe_act, layernorm)");
  ASSERT_TRUE(modules);
  EXPECT_TRUE(modules->has(RecomputeModule::expert_activation));
  EXPECT_TRUE(modules->has(RecomputeModule::norms));
  EXPECT_FALSE(modules->has(RecomputeModule::experts));
  EXPECT_TRUE(stated_modules("selective (core_attn, the default)"));
  EXPECT_FALSE(stated_modules("selective"));
  EXPECT_FALSE(stated_modules("selective (unknown_part)"));
}

TEST(TrainingRecipes, FindsTheRecipeOfARelease) {
  Plan plan{.devices = 64, .ep = 64, .dp = 64};
  const auto of = [&](std::string_view framework, std::string_view gpu, std::string_view format) {
    return recipe_settings({framework, "nemotron_3_super", gpu, format}, plan);
  };
  const auto fused = of("megatron-bridge 26.08", "gb300", "mxfp8");
  ASSERT_TRUE(fused);
  EXPECT_EQ(fused->cuda_graphs, CudaGraphs::layers);
  EXPECT_TRUE(fused->grouped_experts);
  EXPECT_FALSE(of("megatron-bridge 26.04", "gb300", "mxfp8")->grouped_experts);
  const auto b200 = of("megatron-bridge 26.04.01", "b200", "mxfp8");
  ASSERT_TRUE(b200);
  EXPECT_EQ(b200->cuda_graphs, CudaGraphs::none);
  EXPECT_TRUE(b200->recompute.has(RecomputeModule::expert_activation));
  EXPECT_TRUE(b200->recompute.has(RecomputeModule::norms));
  EXPECT_FALSE(of("megatron-bridge 25.11", "gb300", "mxfp8"));
  EXPECT_FALSE(of("nemo 26.08", "gb300", "mxfp8"));
  plan.tp = 2;  // other degrees: another recipe
  EXPECT_FALSE(of("megatron-bridge 26.08", "gb300", "mxfp8"));
}

TEST(TrainingRecipes, KnowsTheScriptsOfMaxText) {
  const MaxTextModel* large = maxtext_model("1024b model", "tpu v5p");
  ASSERT_NE(large, nullptr);
  EXPECT_EQ(large->hidden, 16384);
  EXPECT_EQ(large->heads, 256);
  EXPECT_EQ(large->tp, 16);
  EXPECT_EQ(maxtext_model("16b", "tpu v5e")->layers, 32);
  EXPECT_EQ(maxtext_model("16b", "tpu v4"), nullptr);
  EXPECT_EQ(maxtext_model("gemma4-26b", "tpu v5e"), nullptr);
  EXPECT_EQ(slice_chips("2x v5p-128"), 64);
  EXPECT_EQ(slice_chips("8x v5e-256"), 256);
  EXPECT_FALSE(slice_chips("nvlink"));
}

}  // namespace
}  // namespace stepscope::bench
