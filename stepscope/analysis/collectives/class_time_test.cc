// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/collectives/class_time.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/steps/trace_test_builder.h"
#include "stepscope/analysis/work/work_test_builder.h"

namespace stepscope {
namespace {

constexpr std::string_view gemm = "ampere_bf16_s16816gemm_128x128";
constexpr std::string_view add = "void at::native::vectorized_elementwise_kernel<4, Add>()";
constexpr std::string_view all_reduce = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL()";

struct Account {
  std::vector<ClassTime> classes;
  TimeBudget budget;
};

Account account(Trace trace, std::vector<Step> steps, const std::vector<Dimension>& groups = {}) {
  const RankIndex rank = index_rank(trace);
  const HostPhases phases = host_phases(trace, rank, steps);
  RankCalls calls = find_collective_calls({0, &trace, &rank, steps});
  for (std::size_t i = 0; i < calls.calls.size() && i < groups.size(); ++i)
    calls.calls[i].group = static_cast<std::uint32_t>(i);
  CommSplit split;
  for (std::size_t i = 0; i < calls.calls.size(); i += 2)  // every other call waits for 10 ns
    split.spans.push_back({calls.calls[i].slice, calls.calls[i].start + Ns{10}, true});
  Account a;
  a.budget = time_budget(trace, rank, steps, split);
  a.classes = class_times(trace, {.rank = rank,
                                  .steps = steps,
                                  .phases = phases,
                                  .split = split,
                                  .calls = calls,
                                  .dimensions = groups,
                                  .budget = a.budget});
  return a;
}

Ns of(const ClassTime& time, NameClass c) { return time.compute[static_cast<std::size_t>(c)]; }
template <class Array>
Ns of(const Array& array, Dimension d) {
  return array[static_cast<std::size_t>(d)];
}

TEST(ClassTime, CountsEachInstantOnceMatmulFirst) {
  TraceBuilder builder;
  builder.kernel(gemm, 100, 200);
  builder.row(builder.stream(0, 8), Category::kernel, add, 150, 260);
  builder.row(builder.stream(0, 9), Category::memcpy, "Memcpy HtoD", 180, 300);
  const Account a = account(builder.sealed(), {step(100, 220), step(220, 400)});
  ASSERT_EQ(a.classes.size(), 2U);
  EXPECT_EQ(of(a.classes[0], NameClass::matmul), Ns{100});
  EXPECT_EQ(of(a.classes[0], NameClass::elementwise), Ns{20});
  EXPECT_EQ(of(a.classes[1], NameClass::elementwise), Ns{40});
  EXPECT_EQ(a.budget.rank().steps[0][BudgetCategory::compute], Ns{120});
  EXPECT_EQ(a.budget.rank().steps[1][BudgetCategory::copy_exposed], Ns{40});
}

TEST(ClassTime, GivesExposedCommunicationToItsDimension) {
  TraceBuilder builder;
  builder.kernel(gemm, 100, 150);
  builder.row(builder.stream(0, 20), Category::kernel, all_reduce, 140, 200);
  builder.row(builder.stream(0, 21), Category::kernel, all_reduce, 190, 260);
  builder.row(builder.stream(0, 22), Category::kernel, all_reduce, 300, 340);
  const Account a =
      account(builder.sealed(), {step(100, 400)}, {Dimension::tp, Dimension::dp, Dimension::pp});
  const ClassTime& time = a.classes.at(0);
  EXPECT_EQ(of(time, NameClass::matmul), Ns{50});
  EXPECT_EQ(of(time.wait, Dimension::tp), Ns{0});       // [140, 150) is beside the product
  EXPECT_EQ(of(time.transfer, Dimension::tp), Ns{50});  // [150, 200)
  EXPECT_EQ(of(time.unsplit, Dimension::dp), Ns{60});   // [200, 260): before, tp transfers
  EXPECT_EQ(of(time.wait, Dimension::pp), Ns{10});
  EXPECT_EQ(of(time.transfer, Dimension::pp), Ns{30});
}

TEST(ClassTime, WhatTheOptimizerLaunchesIsTheOptimizers) {
  TraceBuilder builder;
  builder.row(builder.thread(1), Category::user_annotation, "Optimizer.step#AdamW.step", 100, 140);
  builder.launch(1, 110, 112);
  builder.kernel(add, 200, 230, 1);
  builder.launch(2, 150, 152);
  builder.kernel(add, 240, 260, 2);
  const Account a = account(builder.sealed(), {step(100, 400)});
  EXPECT_EQ(of(a.classes.at(0), NameClass::optimizer), Ns{30});
  EXPECT_EQ(of(a.classes.at(0), NameClass::elementwise), Ns{20});
}

TEST(ClassTime, IsEmptyWithoutADevice) {
  TraceBuilder builder;
  builder.op("aten::mm", 100, 200);
  EXPECT_TRUE(account(builder.sealed(), {step(100, 400)}).classes.empty());
}

}  // namespace
}  // namespace stepscope
