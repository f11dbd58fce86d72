// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/graph/learned_order.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace stepscope {
namespace {

constexpr Ns wake_up{20};

// A step of a compute stream (0) and a communication stream (1), from `at`: `a` runs, `c` runs at
// the same time, then `b` begins when both have ended.
std::vector<OrderedUse> step_of(std::int32_t step, std::int64_t at, std::int64_t a,
                                std::int64_t c) {
  const Ns begin{at};
  const Ns a_end{at + a};
  const Ns c_end{at + c};
  const Ns b_start = std::max(a_end, c_end) + Ns{2};
  return {{.name = 1, .step = step, .lane = 0, .start = begin, .end = a_end, .wake_up = wake_up},
          {.name = 2, .step = step, .lane = 1, .start = begin, .end = c_end, .wake_up = wake_up},
          {.name = 3,
           .step = step,
           .lane = 0,
           .ready = a_end,
           .start = b_start,
           .end = b_start + Ns{50},
           .wake_up = wake_up}};
}

std::vector<OrderedUse> uses_of(std::initializer_list<std::vector<OrderedUse>> steps) {
  std::vector<OrderedUse> all;
  for (const auto& step : steps) all.insert(all.end(), step.begin(), step.end());
  return all;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs_of(std::span<const UseOrder> orders) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const UseOrder& o : orders) pairs.emplace_back(o.before, o.after);
  std::ranges::sort(pairs);
  return pairs;
}

std::vector<UseOrder> learned(const std::vector<OrderedUse>& uses) {
  const std::vector<std::vector<OrderedUse>> views = {uses};
  return learn_order(views).front();
}

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

// The wait shows in the second step only, where the communication ends last.
TEST(LearnedOrder, WhatOneStepShowsHoldsInAllSteps) {
  const std::vector<std::vector<OrderedUse>> views = {
      uses_of({step_of(0, 0, 5000, 3000), step_of(1, 10000, 5000, 7000)})};
  EXPECT_EQ(pairs_of(learn_order(views)[0]), (Pairs{{1, 2}, {4, 5}}));
}

TEST(LearnedOrder, ProgramsAreLearnedInParallelWithTheSameResult) {
  std::vector<std::vector<OrderedUse>> views;
  for (std::uint64_t v = 0; v < 12; ++v) {
    views.push_back(uses_of({step_of(0, 0, 5000, 3000), step_of(1, 10000, 5000, 7000)}));
    for (OrderedUse& use : views.back()) use.name += 10 * (v % 4);  // four programs
  }
  const auto alone = learn_order(views);
  const auto together = learn_order(views, 3);
  for (std::size_t v = 0; v < views.size(); ++v) {
    EXPECT_EQ(pairs_of(alone[v]), (Pairs{{1, 2}, {4, 5}})) << v;
    EXPECT_EQ(pairs_of(together[v]), pairs_of(alone[v])) << v;
  }
}

TEST(LearnedOrder, WhatOneRankShowsHoldsOnRanksOfTheSameProgram) {
  std::vector<OrderedUse> other = step_of(0, 0, 5000, 3000);
  other[2].name = 4;
  const std::vector<std::vector<OrderedUse>> views = {step_of(0, 0, 5000, 3000),
                                                      step_of(0, 0, 5000, 7000), other};
  const auto orders = learn_order(views);
  EXPECT_EQ(pairs_of(orders[0]), (Pairs{{1, 2}}));
  EXPECT_EQ(pairs_of(orders[1]), (Pairs{{1, 2}}));
  EXPECT_TRUE(orders[2].empty());  // another program
}

// An operation that began long before the other one ended did not wait for it.
TEST(LearnedOrder, AContradictionRefusesTheOrder) {
  std::vector<OrderedUse> runs_ahead = step_of(1, 10000, 5000, 3000);
  runs_ahead[1].end = Ns{19000};
  const std::vector<std::vector<OrderedUse>> views = {
      uses_of({step_of(0, 0, 5000, 7000), runs_ahead})};
  EXPECT_TRUE(learn_order(views)[0].empty());
}

// A gap longer than a wake-up has another cause.
TEST(LearnedOrder, ALongGapIsNoWait) {
  std::vector<OrderedUse> late = step_of(0, 0, 5000, 7000);
  late[2].start += Ns{100};
  EXPECT_TRUE(learned(late).empty());
}

TEST(LearnedOrder, ARuleOfTheLibraryNeedsNoWaitToShow) {
  std::vector<OrderedUse> uses = step_of(0, 0, 5000, 3000);
  uses[2].follows = {1, no_use};
  EXPECT_EQ(pairs_of(learned(uses)), (Pairs{{1, 2}}));
  uses[1].end = uses[2].start + Ns{2000};
  EXPECT_TRUE(learned(uses).empty());
}

// The wait for the operation of the step before: an optimizer's all-gather before the forward pass.
TEST(LearnedOrder, AnOrderMayReachIntoTheStepBefore) {
  const auto step = [](std::int32_t k, std::int64_t at, std::int64_t gather) {
    return std::vector<OrderedUse>{{.name = 1,
                                    .step = k,
                                    .lane = 0,
                                    .ready = Ns{at},
                                    .start = Ns{at + 500},
                                    .end = Ns{at + 5000},
                                    .wake_up = wake_up},
                                   {.name = 2,
                                    .step = k,
                                    .lane = 1,
                                    .ready = Ns{at + 5000},
                                    .start = Ns{at + 5000},
                                    .end = Ns{at + gather},
                                    .wake_up = wake_up}};
  };
  const std::vector<std::vector<OrderedUse>> views = {
      uses_of({step(0, 0, 10490), step(1, 10000, 9000), step(2, 20000, 9000)})};
  EXPECT_EQ(pairs_of(learn_order(views)[0]), (Pairs{{1, 2}, {3, 4}}));
}

TEST(LearnedOrder, ACallMayReturnWhenAnOperationEnds) {
  const auto step = [](std::int32_t k, std::int64_t at, std::int64_t called) {
    const Ns returned{std::max(at + 5005, called + 3)};
    return std::vector<OrderedUse>{{.name = 1,
                                    .step = k,
                                    .lane = 0,
                                    .start = Ns{at},
                                    .end = Ns{at + 5000},
                                    .wake_up = wake_up},
                                   {.name = 2,
                                    .step = k,
                                    .lane = no_lane,
                                    .ready = Ns{called},
                                    .start = returned,
                                    .end = returned,
                                    .wake_up = wake_up}};
  };
  const std::vector<std::vector<OrderedUse>> views = {
      uses_of({step(0, 0, 1000), step(1, 10000, 16000)})};
  EXPECT_EQ(pairs_of(learn_order(views)[0]), (Pairs{{0, 1}, {2, 3}}));
}

TEST(LearnedOrder, NothingIsLearnedFromNothing) {
  EXPECT_TRUE(learn_order({}).empty());
  const std::vector<std::vector<OrderedUse>> views(2);
  EXPECT_EQ(learn_order(views).size(), 2U);
}

}  // namespace
}  // namespace stepscope
