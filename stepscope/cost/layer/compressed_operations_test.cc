// SPDX-License-Identifier: Apache-2.0
// Operations of compressed attention and of hyper-connections, by the sizes of DeepSeek-V4-Flash.
#include <gtest/gtest.h>

#include "stepscope/cost/layer/operations_test_models.h"
#include "stepscope/cost/layer/recompute.h"
#include "stepscope/cost/model/model_flops.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/cost/plan/training_plan.h"

namespace stepscope {
namespace {

using namespace operations_test;

constexpr std::int64_t of_window = 0, of_chosen = 2, of_all = 3;  // layers
constexpr double h = 4096, s = 4096;

Transformer flash() { return *find_model("deepseek-v4-flash"); }

Plan plan_here(std::int64_t tp = 1, bool sequence_parallel = false) {
  Plan plan = plan_of(tp, sequence_parallel);
  plan.batch.sequence = 4096;
  plan.batch.micro = 1;
  plan.batch.global = 1;
  plan.kernels.vocabulary_multiple = 1;
  return plan;
}

TEST(CompressedOperations, HaveTheFlopsOfTheModelWithItsModule) {
  Transformer m = flash();
  m.prediction = TokenPrediction{.modules = 1, .layers = "W"};
  const Plan plan = plan_here();
  double forward = forward_matrix(head_operations(m, plan)) +
                   forward_matrix(prediction_operations(m, plan)) +
                   forward_matrix(prediction_head_operations(m, plan));
  for (std::int64_t l = 0; l < m.layers; ++l) {
    forward += forward_matrix(layer_operations(m, plan, l));
  }
  const double model =
      model_flops(m, plan.batch.sequence, plan.batch.sequence, FlopsConvention::causal_halved)
          .per_step.value;
  EXPECT_NEAR(3 * forward / model, 1, 1e-12);
}

TEST(CompressedOperations, ProjectEachGroupOfHeadsByItself) {
  const Operation op =
      named(layer_operations(flash(), plan_here(), of_window), "attention_group_proj");
  EXPECT_EQ(op.parameters, 64 * 512 * 1024);
  EXPECT_EQ(op.forward.matrix.value, 2 * s * 64 * 512 * 1024);
  ASSERT_EQ(op.forward.matmuls.size(), 1U);
  const MatmulShape& shape = op.forward.matmuls.front();
  EXPECT_EQ(shape.batch, 8);
  EXPECT_EQ(shape.m, 4096);
  EXPECT_EQ(shape.k, 64 * 512 / 8);
  EXPECT_EQ(shape.n, 1024);
  EXPECT_EQ(op.forward.kernels, 1) << "one batched product";
}

// Keys are values, so only they are kept: those of the tokens and the compressed ones.
TEST(CompressedOperations, KeepOneKeyForEachTokenAndCompressedOnes) {
  const auto core = [](std::int64_t layer) {
    return named(layer_operations(flash(), plan_here(), layer), "attention").core_input_bytes;
  };
  const double queries = 2 * s * 64 * 512;
  EXPECT_DOUBLE_EQ(core(of_window), queries + 2 * s * 512);
  EXPECT_DOUBLE_EQ(core(of_chosen), queries + 2 * (s + s / 4) * 512);
  EXPECT_DOUBLE_EQ(core(of_all), queries + 2 * (s + s / 128) * 512);
}

TEST(CompressedOperations, CompressKeysAndGatesByTheirRatio) {
  const Operations chosen = layer_operations(flash(), plan_here(), of_chosen);
  const Operation& compress = named(chosen, "compress");
  EXPECT_DOUBLE_EQ(compress.forward.input_bytes, 2 * 2 * s * 1024);  // keys and gates
  EXPECT_DOUBLE_EQ(compress.forward.output_bytes, 2 * s / 4 * 512);
  EXPECT_EQ(compress.parameters, 4 * 1024 + 512);
  EXPECT_EQ(named(chosen, "compress_proj").parameters, h * 2 * 1024);
  const Operations all = layer_operations(flash(), plan_here(), of_all);
  EXPECT_EQ(named(all, "compress_proj").parameters, h * 2 * 512);
  EXPECT_FALSE(has(all, "index_scores"));
  const Operations window = layer_operations(flash(), plan_here(), of_window);
  EXPECT_FALSE(has(window, "compress"));
  // The indexer scores a key for each four tokens.
  const Operation& scores = named(chosen, "index_scores");
  EXPECT_DOUBLE_EQ(scores.forward.matrix.value, s * s / 4 * 64 * 128);
  EXPECT_EQ(scores.forward.matmuls.front().n, 1024);
}

TEST(CompressedOperations, DivideHeadsAndGroupsOverTensorRanks) {
  const Operations whole = layer_operations(flash(), plan_here(), of_chosen);
  for (const bool parts : {false, true}) {
    const Operations part = layer_operations(flash(), plan_here(4, parts), of_chosen);
    for (const std::string_view name :
         {"q_up", "attention", "attention_group_proj", "attention_proj"}) {
      EXPECT_DOUBLE_EQ(4 * named(part, name).forward.matrix.value,
                       named(whole, name).forward.matrix.value)
          << name << parts;
    }
    EXPECT_EQ(4 * named(part, "attention_group_proj").parameters,
              named(whole, "attention_group_proj").parameters);
  }
}

TEST(CompressedOperations, NeedGroupsThatTensorRanksDivide) {
  Plan plan = plan_here(16);
  plan.devices = 16;
  const auto checked = check_plan(flash(), plan);
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message().find("output_groups"), std::string::npos);
  plan = plan_here(4);
  plan.tensor.layout = TensorLayout::two_d;
  EXPECT_FALSE(check_plan(flash(), plan));
}

// Step-3.5: 64 heads in layers of the whole sequence, 96 in those of the window, and a gate for
// each.
TEST(WindowHeads, AreThoseOfTheirLayers) {
  const Transformer m = *find_model("step-3.5-flash");
  const Operations whole = layer_operations(m, plan_here(), 0);
  const Operations window = layer_operations(m, plan_here(), 1);
  EXPECT_EQ(named(whole, "qkv_proj").parameters, h * (64 + 16) * 128);
  EXPECT_EQ(named(window, "qkv_proj").parameters, h * (96 + 16) * 128);
  EXPECT_EQ(named(window, "attention_proj").parameters, h * 96 * 128);
  EXPECT_EQ(named(window, "head_gate_proj").parameters, h * 96);
  EXPECT_DOUBLE_EQ(named(window, "head_gate").kept_bytes, 2 * s * 96 * (128 + 1));
  EXPECT_DOUBLE_EQ(named(window, "attention").forward.matrix.value,
                   4 * 128 * 96 * (512 * s - 512 * 512 / 2.0));
  const Operations part = layer_operations(m, plan_here(8), 1);
  EXPECT_EQ(8 * named(part, "head_gate_proj").parameters, h * 96);
  Plan plan = plan_here(64);
  plan.devices = 64;
  const auto checked = check_plan(m, plan);
  ASSERT_FALSE(checked) << "64 heads can be divided, 96 cannot";
  EXPECT_NE(checked.error().message().find("window"), std::string::npos);
}

TEST(HyperConnections, MoveAndKeepAllStreams) {
  const Operations ops = layer_operations(flash(), plan_here(), of_window);
  const double stream = 2 * s * h;  // bytes of one
  EXPECT_DOUBLE_EQ(layer_input_bytes(flash(), plan_here()), 4 * stream);
  const Operation& maps = named(ops, "hyper_maps");
  EXPECT_EQ(maps.parameters, 24 * 4 * h + 24 + 3);
  EXPECT_DOUBLE_EQ(maps.kept_bytes, 4 * stream + 4 * 24 * s);
  const Operation& collapse = named(ops, "hyper_collapse");
  EXPECT_DOUBLE_EQ(collapse.forward.input_bytes, 4 * stream);
  EXPECT_DOUBLE_EQ(collapse.forward.output_bytes, stream);
  const Operation& merge = named(ops, "hyper_merge");
  EXPECT_DOUBLE_EQ(merge.forward.bytes(), (4 + 1 + 4) * stream);
  EXPECT_DOUBLE_EQ(merge.kept_bytes, stream);
  EXPECT_FALSE(has(ops, "attention_residual"));
  EXPECT_EQ(sum(ops, [](const Operation& op) { return op.name == "hyper_merge" ? 1.0 : 0.0; }), 2)
      << "one for each part of the layer";
  Transformer plain = flash();
  plain.hyper.reset();
  EXPECT_FALSE(has(layer_operations(plain, plan_here(), of_window), "hyper_maps"));
  EXPECT_DOUBLE_EQ(layer_input_bytes(plain, plan_here()), stream);
}

// The streams come back from the mixing before, the norms' inputs from the sums of the streams.
TEST(HyperConnections, ComputedAgainKeepNoStreams) {
  Plan plan = plan_here();
  const Operations plain = layer_operations(flash(), plan, of_window);
  plan.memory.recompute_modules.add(RecomputeModule::hyper_connections);
  const Operations again = layer_operations(flash(), plan, of_window);
  const double stream = 2 * s * h;
  EXPECT_NEAR(kept(plain) - kept(again), 2 * (4 + 1) * stream + 2 * 4 * (24 + 1) * s, 1);
  EXPECT_EQ(share_again(named(again, "hyper_merge"), Recompute::none), 1);
  EXPECT_EQ(share_again(named(again, "hyper_collapse"), Recompute::none), 1);
  EXPECT_EQ(share_again(named(again, "hyper_maps"), Recompute::none), 0);
  EXPECT_TRUE(check_plan(flash(), plan));
  plan.devices = 1;
  EXPECT_FALSE(check_plan(*find_model("llama-3-8b"), plan)) << "it has none";
}

}  // namespace
}  // namespace stepscope
