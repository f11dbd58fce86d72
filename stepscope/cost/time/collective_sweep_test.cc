// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/time/collective_sweep.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace stepscope {
namespace {

Network h200() { return *make_network(*find_machine("NVIDIA H200")); }

CollectiveSweep sweep(CollectiveKind kind, int size) {
  const Network n = h200();
  auto s = sweep_collective(n, kind, *place(size, 1, n));
  EXPECT_TRUE(s) << s.error().message();
  return *s;
}

TEST(SweepCollective, CoversTheRangeAndEndsAtItsEnd) {
  const Network n = h200();
  const auto s = sweep_collective(n, CollectiveKind::all_gather, *place(8, 1, n),
                                  {.from = Bytes{1000}, .to = Bytes{5000}, .factor = 2});
  ASSERT_TRUE(s);
  ASSERT_EQ(s->points.size(), 4u);
  EXPECT_EQ(s->points[0].bytes.value, 1000);
  EXPECT_EQ(s->points[2].bytes.value, 4000);
  EXPECT_EQ(s->points[3].bytes.value, 5000);
}

TEST(SweepCollective, GivesTheTimeAndBusRateOfTheBest) {
  const Network n = h200();
  const CollectiveSweep s = sweep(CollectiveKind::all_reduce, 64);
  for (const SweepPoint& p : s.points) {
    EXPECT_DOUBLE_EQ(p.best.time.count(), collective_time(n, s.kind, p.bytes, s.group).count());
    EXPECT_NEAR(p.bus_rate.value * p.best.time.count(),
                2 * 63.0 / 64 * static_cast<double>(p.bytes.value), 1);
    EXPECT_TRUE(p.best.offered);
    EXPECT_GE(p.algorithms.size(), 3u);
  }
}

TEST(SweepCollective, BeyondTheMeasuredSizesTheRateIsLimitedWhereNothingDeterminesIt) {
  Network n = h200();
  const auto simple_from = [&] {
    const CollectiveSweep s = sweep(CollectiveKind::all_gather, 8);
    return std::ranges::find(s.crossovers, Protocol::simple, &Crossover::to_protocol)->bytes;
  }();
  const auto at = [&](std::int64_t measured_to, std::int64_t bytes) {
    n.up_measured_to = Bytes{measured_to};
    const auto s = sweep_collective(n, CollectiveKind::all_gather, *place(8, 1, n),
                                    {.from = Bytes{bytes}, .to = Bytes{bytes}});
    EXPECT_TRUE(s);
    return s->points.front();
  };
  const std::int64_t large = std::int64_t{1} << 30;
  const SweepPoint told = at(8 * simple_from.value, large);
  EXPECT_TRUE(told.beyond);
  EXPECT_FALSE(told.limited) << "three octaves of the protocol were measured";
  const SweepPoint hardly = at(simple_from.value + 1, large);
  EXPECT_TRUE(hardly.limited);
  EXPECT_GT(hardly.best.time, told.best.time);
  const SweepPoint largest = at(simple_from.value + 1, simple_from.value + 1);
  EXPECT_FALSE(largest.beyond);
  EXPECT_NEAR(hardly.bus_rate.value / largest.bus_rate.value, 1, 1e-9);
  EXPECT_NE(hardly.best.formula.find(", as of "), std::string::npos) << hardly.best.formula;
  for (const AlgorithmTime& a : hardly.algorithms) EXPECT_GE(a.time, hardly.best.time);
  n.up_measured_to = {};
  const auto unknown = sweep_collective(n, CollectiveKind::all_gather, *place(8, 1, n));
  EXPECT_TRUE(std::ranges::none_of(unknown->points, &SweepPoint::beyond));
}

TEST(SweepCollective, FindsEverySizeWhereTheBestChanges) {
  const Network n = h200();
  const CollectiveSweep s = sweep(CollectiveKind::all_reduce, 64);
  ASSERT_FALSE(s.crossovers.empty());
  const auto best = [&](std::int64_t bytes) {
    const auto all = collective_algorithms(n, s.kind, Bytes{bytes}, s.group);
    return *std::ranges::find(all, true, &AlgorithmTime::offered);
  };
  for (const Crossover& c : s.crossovers) {
    EXPECT_EQ(best(c.bytes.value - 1).algorithm, c.from);
    EXPECT_EQ(best(c.bytes.value - 1).protocol, c.from_protocol);
    EXPECT_EQ(best(c.bytes.value).algorithm, c.to);
    EXPECT_EQ(best(c.bytes.value).protocol, c.to_protocol);
  }
  EXPECT_TRUE(std::ranges::is_sorted(s.crossovers, {}, &Crossover::bytes));
  EXPECT_EQ(s.crossovers.back().to, s.points.back().best.algorithm);
}

TEST(SweepCollective, RefusesWhatIsNoRange) {
  const Network n = h200();
  const GroupPlacement group = *place(8, 1, n);
  const auto fails = [&](CollectiveKind kind, const GroupPlacement& g, const SweepRange& range) {
    return !sweep_collective(n, kind, g, range);
  };
  using enum CollectiveKind;
  EXPECT_TRUE(fails(all_reduce, group, {.from = Bytes{0}}));
  EXPECT_TRUE(fails(all_reduce, group, {.from = Bytes{9}, .to = Bytes{8}}));
  EXPECT_TRUE(fails(all_reduce, group, {.factor = 1}));
  EXPECT_TRUE(fails(all_reduce, group, {.factor = 1.0000001}));
  EXPECT_TRUE(fails(all_reduce, GroupPlacement{}, {}));
  EXPECT_TRUE(fails(unknown, group, {}));
  EXPECT_FALSE(fails(all_reduce, group, {}));
}

}  // namespace
}  // namespace stepscope
