// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/mfu_rank.h"

#include <gtest/gtest.h>

#include <vector>

namespace stepscope {
namespace {

using std::chrono::milliseconds;
using Places = std::vector<std::size_t>;

Budget step_of(int compute_ms, int idle_ms) {
  Budget b;
  b[BudgetCategory::compute] = milliseconds(compute_ms);
  b[BudgetCategory::idle_host] = milliseconds(idle_ms);
  return b;
}

DeviceBudget device(int id, std::vector<Budget> steps) {
  return {.device = id, .steps = std::move(steps), .idle = {}};
}

TimeBudget budget_of(std::vector<DeviceBudget> devices) {
  TimeBudget budget;
  budget.devices = std::move(devices);
  return budget;
}

ExecutedProducts& products(ExecutedStep& step, OperandFormat p) {
  return step.products[static_cast<std::size_t>(p)];
}

// Two steps, each with 30 ms of bf16 products and 10 ms of products without shapes.
Executed two_steps() {
  Executed executed;
  executed.any_shapes = true;
  for (int i = 0; i < 2; ++i) {
    ExecutedStep& step = executed.steps.emplace_back();
    products(step, OperandFormat::bf16).flops = Flops{1e12};
    products(step, OperandFormat::bf16).time = milliseconds(30);
    products(step, OperandFormat::other).unknown_time = milliseconds(10);
    step.product_union = milliseconds(40);
  }
  return executed;
}

TEST(MfuRank, SumsTheStepsThatAreAskedFor) {
  const TimeBudget budget = budget_of({device(0, {step_of(60, 40), step_of(70, 50)})});
  const MfuRank both = mfu_rank(3, budget, Places{0, 1}, two_steps(), Places{0, 1});
  EXPECT_EQ(both.rank, 3);
  EXPECT_EQ(both.steps, 2);
  EXPECT_EQ(both.budget[BudgetCategory::compute], milliseconds(130));
  ASSERT_TRUE(both.work);
  ASSERT_EQ(both.work->known.size(), 1U);
  EXPECT_EQ(both.work->known[0].dtype, Dtype::bf16);
  EXPECT_EQ(both.work->known[0].flops.value, 2e12);
  EXPECT_EQ(both.work->known[0].busy, milliseconds(60));
  EXPECT_EQ(both.work->unknown_busy, milliseconds(20));
  const MfuRank second = mfu_rank(3, budget, Places{1}, two_steps(), Places{1});
  EXPECT_EQ(second.steps, 1);
  EXPECT_EQ(second.budget.sum(), milliseconds(120));
  EXPECT_EQ(second.work->known[0].flops.value, 1e12);
}

TEST(MfuRank, WithoutShapesHasNoWork) {
  Executed executed = two_steps();
  executed.any_shapes = false;
  const TimeBudget budget = budget_of({device(0, {step_of(60, 40), step_of(70, 50)})});
  EXPECT_FALSE(mfu_rank(0, budget, Places{0}, executed, Places{0}).work);
}

TEST(MfuRank, ShrinksProductsThatRunBesideEachOtherToTheirUnion) {
  Executed executed = two_steps();
  executed.steps[0].product_union = milliseconds(20);
  const TimeBudget budget = budget_of({device(0, {step_of(60, 40), step_of(70, 50)})});
  const MfuRank r = mfu_rank(0, budget, Places{0}, executed, Places{0});
  EXPECT_EQ(r.work->known[0].busy, milliseconds(15));
  EXPECT_EQ(r.work->unknown_busy, milliseconds(5));
}

TEST(MfuRank, LeavesFormatsWithoutAPeakUnknown) {
  Executed executed = two_steps();
  products(executed.steps[0], OperandFormat::int8).flops = Flops{5e12};
  products(executed.steps[0], OperandFormat::int8).time = milliseconds(6);
  executed.steps[0].product_union = milliseconds(46);
  const TimeBudget budget = budget_of({device(0, {step_of(60, 40), step_of(70, 50)})});
  const MfuRank r = mfu_rank(0, budget, Places{0}, executed, Places{0});
  EXPECT_EQ(r.work->known.size(), 1U);
  EXPECT_EQ(r.work->unknown_busy, milliseconds(16));
}

TEST(MfuRank, CountsEveryGpuThatComputesAndNoOther) {
  const TimeBudget budget = budget_of(
      {device(0, {step_of(60, 40)}), device(1, {step_of(50, 50)}), device(2, {step_of(0, 100)})});
  const MfuRank r = mfu_rank(0, budget, Places{0}, two_steps(), Places{0});
  EXPECT_EQ(r.steps, 2);
  EXPECT_EQ(r.budget.sum(), milliseconds(200));
}

TEST(ProductContention, CountsMatrixProductsAndAttentionOnly) {
  std::vector<Contention> rows(3);
  rows[0].name = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64";
  rows[0].kind = NameClass::matmul;
  rows[0].lost = milliseconds(5);
  rows[1].name = "flash_fwd_kernel";
  rows[1].kind = NameClass::attention;
  rows[1].lost = milliseconds(2);
  rows[2].name = "vectorized_elementwise_kernel";
  rows[2].kind = NameClass::elementwise;
  rows[2].lost = milliseconds(9);
  EXPECT_EQ(product_contention(rows), milliseconds(7));
  EXPECT_FALSE(product_contention(std::span(rows).last(1)));
  EXPECT_FALSE(product_contention({}));
}

TEST(MfuRank, KnowsEveryFormatWithAPeak) {
  EXPECT_EQ(dtype_of(OperandFormat::tf32), Dtype::tf32);
  EXPECT_EQ(dtype_of(OperandFormat::fp8), Dtype::fp8);
  EXPECT_FALSE(dtype_of(OperandFormat::int8));
  for (std::size_t p = 0; p < precision_count; ++p) {
    const auto dtype = dtype_of(static_cast<OperandFormat>(p));
    if (!dtype) continue;
    EXPECT_EQ(name(*dtype), precision_names[p]);
  }
}

}  // namespace
}  // namespace stepscope
