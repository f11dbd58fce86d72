// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/layer/recompute.h"

#include <gtest/gtest.h>

#include "stepscope/cost/layer/operations_test_models.h"

namespace stepscope {
namespace {

using namespace operations_test;

TEST(Recomputation, EveryKKeepsTheFirstOfEachKLayers) {
  const Plan plan{.memory = {.recompute = Recompute::every_k, .recompute_every = 3}};
  EXPECT_EQ(recompute_at(plan, 0), Recompute::none);
  EXPECT_EQ(recompute_at(plan, 1), Recompute::full);
  EXPECT_EQ(recompute_at(plan, 2), Recompute::full);
  EXPECT_EQ(recompute_at(plan, 3), Recompute::none);
  EXPECT_EQ(recompute_at({.memory = {.recompute = Recompute::selective}}, 1), Recompute::selective);
}

TEST(Recomputation, WhatIsNotKeptComesBackForOneLayer) {
  const Plan plan = plan_of(2);
  const Operations ops = layer_operations(llama(), plan, 0);
  const double input = layer_input_bytes(llama(), plan);
  for (const Recompute how :
       {Recompute::none, Recompute::selective, Recompute::operations, Recompute::full}) {
    EXPECT_DOUBLE_EQ(kept_bytes(ops, how, input) + recomputed_bytes(ops, how, input), kept(ops));
  }
  EXPECT_EQ(recomputed_bytes(ops, Recompute::none, input), 0);
  EXPECT_GT(recomputed_bytes(ops, Recompute::full, input), 5 * input);
}

TEST(Recomputation, ModulesRunAgainAndBringBackWhatTheyMake) {
  Transformer m = llama();
  m.experts = Experts{.count = 8, .top_k = 2, .feed_forward = 14336};
  Plan plan = plan_of(1);
  const double input = layer_input_bytes(m, plan);
  const Operations plain = layer_operations(m, plan, 0);
  const auto with = [&](RecomputeModule module) {
    plan.memory.recompute_modules = {};
    plan.memory.recompute_modules.add(module);
    return layer_operations(m, plan, 0);
  };
  // Whatever is not kept comes back while the layer runs backward.
  for (std::size_t i = 0; i < recompute_module_names.size(); ++i) {
    const Operations ops = with(static_cast<RecomputeModule>(i));
    for (const Recompute how : {Recompute::none, Recompute::selective, Recompute::full}) {
      EXPECT_DOUBLE_EQ(kept_bytes(ops, how, input) + recomputed_bytes(ops, how, input), kept(plain))
          << recompute_module_names[i];
    }
  }
  // The activation's output is the input of the second product.
  const Operations act = with(RecomputeModule::expert_activation);
  EXPECT_EQ(share_again(named(act, "expert_activation"), Recompute::none), 1);
  EXPECT_EQ(share_again(named(act, "expert_fc1"), Recompute::none), 0);
  EXPECT_DOUBLE_EQ(recomputed_bytes(act, Recompute::none, input),
                   named(plain, "expert_fc2").kept_bytes);
  // Only the router's input of the mixture stays.
  const Operations all = with(RecomputeModule::experts);
  for (const Operation& op : all) {
    if (!op.expert) continue;
    EXPECT_EQ(share_again(op, Recompute::none), 1) << op.name;
    EXPECT_EQ(op.kept_bytes, 0) << op.name;
  }
  EXPECT_EQ(named(all, "router").kept_bytes, named(plain, "router").kept_bytes);
  EXPECT_EQ(share_again(named(all, "qkv_proj"), Recompute::none), 0);
  // The core's own module is selective recomputation.
  const Operations core = with(RecomputeModule::core_attention);
  EXPECT_DOUBLE_EQ(kept_bytes(core, Recompute::none, input),
                   kept_bytes(plain, Recompute::selective, input));
}

TEST(Recomputation, SelectiveRunsTheCoreOfAttentionAgainAndNothingElse) {
  const Operations ops = layer_operations(gpt(), plan_of(1), 0);
  for (const Operation& op : ops) {
    EXPECT_EQ(share_again(op, Recompute::selective), op.name == "attention" ? 1 : 0) << op.name;
  }
}

TEST(Recomputation, OperationsRunsHalfOfTheMatmulsAgainAndNeverTheCore) {
  const Operations ops = layer_operations(llama(), plan_of(1), 0);
  const double input = layer_input_bytes(llama(), plan_of(1));
  for (const Operation& op : ops) {
    const double share = op.attention_core ? 0 : op.kind == OperationClass::matmul ? 0.5 : 1;
    EXPECT_EQ(share_again(op, Recompute::operations), share) << op.name;
  }
  const double held = kept_bytes(ops, Recompute::operations, input);
  EXPECT_GT(held, kept_bytes(ops, Recompute::full, input));
  EXPECT_LT(held, kept_bytes(ops, Recompute::selective, input));
}

// torchtitan's policy "op" saves the first, third, fifth ... of aten.mm, attention and the input.
// In Llama, which has seven, these are wq, wv, w1 and w2; no operation reads w2 again once a
// compiler sees the sum.
TEST(Recomputation, OperationsKeepsEverySecondProduct) {
  Plan plan = plan_of(1);
  const double input = layer_input_bytes(llama(), plan);
  const auto held = [&] {
    return kept_bytes(layer_operations(llama(), plan, 0), Recompute::operations, input);
  };
  const double tokens = static_cast<double>(plan.batch.micro * plan.batch.sequence);
  const auto width = [](std::int64_t n) { return static_cast<double>(n); };
  const double h = width(llama().hidden);
  const double value = width(llama().kv_heads * llama().head_size);
  const double log_sums = 4 * tokens * width(llama().heads);
  const double of_attention = 2 * tokens * h + log_sums;
  const double eager = 2 * tokens * (h + value + width(llama().feed_forward) + h);
  EXPECT_DOUBLE_EQ(held(), input + of_attention + eager);
  plan.kernels.compiled = true;
  EXPECT_DOUBLE_EQ(held(), input + of_attention + eager - 2 * tokens * h);
}

TEST(Recomputation, SelectiveBringsLittleWhereAttentionIsFused) {
  const Plan plan = plan_of(1);
  const Operations ops = layer_operations(llama(), plan, 0);
  const double input = layer_input_bytes(llama(), plan);
  const double log_sums = 4.0 * 32 * 2048;
  EXPECT_DOUBLE_EQ(recomputed_bytes(ops, Recompute::selective, input), log_sums);
}

}  // namespace
}  // namespace stepscope
