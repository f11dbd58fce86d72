// SPDX-License-Identifier: Apache-2.0
// The figures of Korthikanti et al., "Reducing Activation Recomputation in Large Transformer
// Models" (2022), from the operations of a layer: activations of 16-bit elements and 1-byte masks,
// scores materialised, neither statistics nor the causal half counted.
#include <gtest/gtest.h>

#include "stepscope/cost/layer/operations_test_models.h"
#include "stepscope/cost/layer/recompute.h"

namespace stepscope {
namespace {

using namespace operations_test;

constexpr Counting paper{.statistics = false};

struct Setting {
  double s = 2048;
  double b = 4;
  double h = 12288;
  double a = 96;
  double t = 8;
};

Plan plan_with(std::int64_t tp, bool sequence_parallel) {
  Plan plan = plan_of(tp, sequence_parallel);
  plan.batch.micro = 4;
  plan.kernels.fused_attention = false;
  return plan;
}

Operations layer_of(const Plan& plan) { return layer_operations(gpt(), plan, 0, paper); }

TEST(Korthikanti, OneDeviceKeepsEquationOneOfEachLayer) {
  const auto [s, b, h, a, t] = Setting{};
  EXPECT_DOUBLE_EQ(kept(layer_of(plan_with(1, false))), s * b * h * (34 + 5 * a * s / h));
}

TEST(Korthikanti, TensorParallelKeepsEquationTwo) {
  const auto [s, b, h, a, t] = Setting{};
  EXPECT_DOUBLE_EQ(kept(layer_of(plan_with(8, false))),
                   s * b * h * (10 + 24 / t + 5 * a * s / (h * t)));
}

TEST(Korthikanti, SequenceParallelDividesAllOfIt) {
  const auto [s, b, h, a, t] = Setting{};
  EXPECT_DOUBLE_EQ(kept(layer_of(plan_with(8, true))), s * b * h / t * (34 + 5 * a * s / h));
}

TEST(Korthikanti, SelectiveRecomputationDropsTheScores) {
  const auto [s, b, h, a, t] = Setting{};
  const auto left = [](const Plan& plan) {
    return kept_bytes(layer_of(plan), Recompute::selective, layer_input_bytes(gpt(), plan));
  };
  EXPECT_DOUBLE_EQ(left(plan_with(8, true)), 34 * s * b * h / t);
  EXPECT_DOUBLE_EQ(left(plan_with(8, false)), s * b * h * (10 + 24 / t));
}

TEST(Korthikanti, FullRecomputationKeepsTheInput) {
  const auto [s, b, h, a, t] = Setting{};
  const Plan plan = plan_with(1, false);
  EXPECT_DOUBLE_EQ(kept_bytes(layer_of(plan), Recompute::full, layer_input_bytes(gpt(), plan)),
                   2 * s * b * h);
}

TEST(Korthikanti, TheEndsKeepDropoutMaskNormAndLogits) {
  const auto [s, b, h, a, t] = Setting{};
  const Plan plan = plan_with(8, true);
  EXPECT_DOUBLE_EQ(kept(embedding_operations(gpt(), plan, paper)), s * b * h / t);
  EXPECT_DOUBLE_EQ(kept(head_operations(gpt(), plan, paper)), 4 * s * b * h / t * (1 + 51200 / h));
}

TEST(Korthikanti, ModelFlopsAreTheAppendixs) {
  const auto [s, b, h, a, t] = Setting{};
  const double layers = 96;
  const double vocabulary = 51200;
  const Plan plan = plan_with(8, true);
  const Operations layer = layer_of(plan);
  const Operations head = head_operations(gpt(), plan, paper);
  const double all = layers * (forward_matrix(layer) + backward_matrix(layer)) +
                     forward_matrix(head) + backward_matrix(head);
  EXPECT_DOUBLE_EQ(
      t * all, 72 * b * layers * s * h * h * (1 + s / (6 * h) + vocabulary / (12 * h * layers)));
}

TEST(Korthikanti, FullRecomputationRunsEveryForwardPassAgain) {
  const auto [s, b, h, a, t] = Setting{};
  const Operations layer = layer_of(plan_with(8, true));
  const auto again = [&layer](Recompute how) {
    return sum(layer, [how](const Operation& op) {
      return share_again(op, how) * op.forward.matrix.value;
    });
  };
  EXPECT_DOUBLE_EQ(t * again(Recompute::full), 24 * b * s * h * h * (1 + s / (6 * h)));
  EXPECT_DOUBLE_EQ(t * again(Recompute::selective), 4 * b * s * s * h);
  EXPECT_EQ(again(Recompute::none), 0);
}

}  // namespace
}  // namespace stepscope
