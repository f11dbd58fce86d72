// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/runs/compare_runs.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace stepscope {
namespace {

using Doubles = std::vector<double>;

// 10 ms with 1 % noise.
class Launches {
 public:
  LaunchSteps draw(std::size_t n, double level = 1e7) {
    LaunchSteps launch{.name = "run"};
    for (std::size_t i = 0; i < n; ++i) launch.wall_ns.push_back(level * (1 + 0.01 * normal()));
    return launch;
  }
  double normal() { return noise_(random_); }

 private:
  std::mt19937 random_{17};
  std::normal_distribution<double> noise_;
};

RunComparison compare_two(const LaunchSteps& a, const LaunchSteps& b,
                          const CompareOptions& options = {}) {
  return compare_runs({&a, 1}, {&b, 1}, {}, options);
}

TEST(CompareRuns, LeavesOutTheWarmUpAndSaysSo) {
  Launches launches;
  LaunchSteps a = launches.draw(100);
  a.wall_ns[0] = 5e8;
  a.wall_ns[1] = 2e7;
  const RunComparison c = compare_two(a, launches.draw(100));
  EXPECT_EQ(c.a.launches[0].warm_up, 2U);
  EXPECT_EQ(c.a.launches[0].steps, 100U);
  EXPECT_EQ(c.a.steps, 98U);
  EXPECT_EQ(c.b.launches[0].warm_up, 0U);
  EXPECT_NEAR(c.a.median_ns, 1e7, 5e4);
  const RunComparison all = compare_two(a, launches.draw(100), {.ratio = {}, .warm_up = 0});
  EXPECT_EQ(all.a.steps, 100U);
  EXPECT_EQ(compare_two(a, a, {.ratio = {}, .warm_up = 1000}).a.steps, 1U);
}

TEST(CompareRuns, OutliersKeepTheirCauseAndTheirPlace) {
  Launches launches;
  LaunchSteps a = launches.draw(120);
  a.causes.resize(120);
  for (std::size_t i = 20; i < 120; i += 25) {
    a.wall_ns[i] = 4e7;
    a.causes[i] = "checkpoint";
  }
  a.wall_ns[33] = 3e7;
  const RunComparison c = compare_two(a, launches.draw(120));
  ASSERT_GE(c.a.outliers.size(), 2U);
  EXPECT_EQ(c.a.outliers[0].cause, "checkpoint");
  EXPECT_EQ(c.a.outliers[0].count, 4U);
  EXPECT_EQ(c.a.outliers[0].every, 25U);
  EXPECT_NEAR(c.a.outliers[0].extra_ns, 4 * 3e7, 1e6);
  EXPECT_EQ(c.a.outliers[1].cause, "unknown");
  EXPECT_EQ(c.a.steps, 120U);
}

// A third of all steps is a level of its own, and a fast step costs nothing.
TEST(CompareRuns, ManyUnusualStepsAreNoOutliersAndFastOnesStandApart) {
  Launches launches;
  LaunchSteps a = launches.draw(120);
  a.wall_ns[40] = 4e7;
  a.wall_ns[50] = 5e6;
  const ComparedArm few = describe_arm({&a, 1});
  ASSERT_EQ(few.outliers.size(), 2U);
  EXPECT_EQ(few.outliers[0].cause, "unknown");
  EXPECT_EQ(few.outliers[1].cause, "unknown and faster");
  for (std::size_t i = 1; i < 120; i += 3) a.wall_ns[i] = 4e7;
  for (const OutlierGroup& g : describe_arm({&a, 1}).outliers) EXPECT_LT(g.count, 30U) << g.cause;
}

// If the input gives no cause, the part that grew most is the cause.
TEST(CompareRuns, APartThatGrewExplainsAnOutlier) {
  Launches launches;
  LaunchSteps a = launches.draw(50);
  a.parts = {{PartKind::budget, "compute", a.wall_ns},
             {PartKind::budget, "idle_data", Doubles(50, 0.0)}};
  a.wall_ns[30] += 9e6;
  a.parts[1].ns[30] = 9e6;
  const RunComparison c = compare_two(a, launches.draw(50));
  ASSERT_FALSE(c.a.outliers.empty());
  EXPECT_EQ(c.a.outliers[0].cause, "idle_data");
}

TEST(CompareRuns, PartsSayWhatChangedAndFalseOnesAreFew) {
  Launches launches;
  const auto with_parts = [&](double data) {
    LaunchSteps launch = launches.draw(60);
    launch.parts.push_back({PartKind::budget, "compute", launch.wall_ns});
    Doubles waiting;
    for (double& wall : launch.wall_ns) {
      waiting.push_back(data * (1 + 0.1 * launches.normal()));
      wall += waiting.back();
    }
    launch.parts.push_back({PartKind::budget, "idle_data", waiting});
    for (int k = 0; k < 100; ++k) {
      Doubles kernel;
      for (int s = 0; s < 60; ++s) kernel.push_back(1e4 * (1 + 0.05 * launches.normal()));
      launch.parts.push_back({PartKind::kernel, "k" + std::to_string(k), kernel});
    }
    return launch;
  };
  const RunComparison c = compare_two(with_parts(1e6), with_parts(3e6));
  EXPECT_EQ(c.ratio.verdict, Verdict::slower);
  ASSERT_EQ(c.parts.size(), 102U);
  EXPECT_EQ(c.parts[0].name, "idle_data");
  EXPECT_NEAR(c.parts[0].test.difference, 2e6, 1e5);
  EXPECT_TRUE(c.parts[0].called);
  int called = 0;
  for (const PartDifference& part : c.parts) called += part.called && part.kind == PartKind::kernel;
  EXPECT_LE(called, 1);  // of a hundred that are equal
}

TEST(CompareRuns, OperatorsOfOneNameAreComparedByShapeAndCalls) {
  Launches launches;
  LaunchSteps a = launches.draw(10);
  LaunchSteps b = launches.draw(10);
  const auto mm = [](std::string shapes, double ns, double calls) {
    return PartSeries{PartKind::operation, "aten::mm", Doubles(10, ns), Doubles(10, calls),
                      std::move(shapes)};
  };
  a.parts = {mm("[[8,8],[8,8]]", 4e6, 2), mm("[[2,2],[2,2]]", 1e6, 5)};
  b.parts = {mm("[[8,8],[8,8]]", 1e6, 4), mm("[[2,2],[2,2]]", 4e6, 5)};
  a.parts.push_back({PartKind::kernel, "uncounted", Doubles(10, 1e6)});
  const RunComparison c = compare_two(a, b);
  ASSERT_EQ(c.parts.size(), 3U);
  EXPECT_FALSE(c.parts[0].a_calls) << "calls that no arm counts are not known";
  EXPECT_EQ(c.parts[1].shapes, "[[2,2],[2,2]]");
  EXPECT_EQ(c.parts[1].test.difference, 3e6) << "the two cancel in a sum by name";
  EXPECT_EQ(c.parts[2].test.difference, -3e6);
  EXPECT_EQ(c.parts[2].a_calls, 2);
  EXPECT_EQ(c.parts[2].b_calls, 4);
}

// A kernel that runs in only one arm takes no time in the other.
TEST(CompareRuns, APartOfOneArmOnlyIsADifference) {
  Launches launches;
  LaunchSteps a = launches.draw(10);
  LaunchSteps b = launches.draw(10);
  a.parts = {{PartKind::kernel, "old", Doubles(10, 3e5)}};
  b.parts = {{PartKind::kernel, "new", Doubles(10, 2e5)}};
  const RunComparison c = compare_two(a, b);
  ASSERT_EQ(c.parts.size(), 2U);
  EXPECT_EQ(c.parts[0].name, "old");
  EXPECT_EQ(c.parts[0].test.difference, -3e5);
  EXPECT_EQ(c.parts[1].test.difference, 2e5);
  EXPECT_TRUE(c.parts[1].called);
  b.parts.clear();
  EXPECT_TRUE(compare_two(a, b).parts.empty());
}

TEST(CompareRuns, LaunchesInOrderTellADrift) {
  Launches launches;
  std::vector<LaunchSteps> a;
  std::vector<LaunchSteps> b;
  const std::vector<bool> order = {false, true, true, false, false, true};
  for (std::size_t i = 0; i < order.size(); ++i)
    (order[i] ? b : a).push_back(launches.draw(200, 1e7 * (1 + 0.02 * static_cast<double>(i))));
  const RunComparison c = compare_runs(a, b, order);
  ASSERT_TRUE(c.drift);
  EXPECT_NEAR(c.drift->slope, 0.02, 0.002);
  EXPECT_LT(c.drift->p, 0.001);
  EXPECT_FALSE(compare_runs(a, b, {}).drift);
  EXPECT_TRUE(c.ratio.p_launches);
}

// A level that changes in the middle leaves few independent steps; the launch says where.
TEST(CompareRuns, AChangeWithinALaunchIsFound) {
  Launches launches;
  const LaunchSteps a = launches.draw(20, 1e8);
  LaunchSteps b = launches.draw(20, 1e8);
  for (std::size_t i = 10; i < 20; ++i) b.wall_ns[i] *= 2.8;
  const RunComparison c = compare_two(a, b);
  EXPECT_EQ(c.ratio.verdict, Verdict::not_enough_data);
  EXPECT_LT(c.b.n_eff, 2);
  EXPECT_TRUE(c.a.launches[0].changes.empty());
  ASSERT_EQ(c.b.launches[0].changes.size(), 1U);
  EXPECT_EQ(c.b.launches[0].changes[0].at, 10U);
  EXPECT_NEAR(c.b.launches[0].changes[0].after, 2.8e8, 2e7);
}

TEST(CompareRuns, OneStepAndEqualStepsAreAnswered) {
  const LaunchSteps one{.name = "one", .wall_ns = {1e7}};
  const RunComparison c = compare_two(one, one);
  EXPECT_EQ(c.ratio.ratio, 1);
  EXPECT_EQ(c.ratio.verdict, Verdict::not_enough_data);
  EXPECT_FALSE(c.a.stdev_ns);
  const LaunchSteps equal{.name = "equal", .wall_ns = Doubles(30, 1e7)};
  EXPECT_EQ(compare_two(equal, equal).ratio.verdict, Verdict::same);
  EXPECT_TRUE(compare_two(equal, equal).a.outliers.empty());
}

std::vector<SweepValue> values_of(const std::vector<std::pair<std::string, double>>& levels,
                                  std::size_t steps) {
  std::mt19937 random(5);
  std::normal_distribution<double> noise;
  std::vector<SweepValue> values;
  for (const auto& [name, level] : levels) {
    LaunchSteps launch{.name = name};
    for (std::size_t i = 0; i < steps; ++i)
      launch.wall_ns.push_back(level * (1 + 0.02 * noise(random)));
    values.push_back({.value = name, .launches = {launch}});
  }
  return values;
}

TEST(Sweep, FindsTheBestAndShowsTiesAsTies) {
  const Sweep sweep = compare_values(
      values_of({{"1MB", 1.2e7}, {"5MB", 1.0e7}, {"25MB", 1.001e7}, {"100MB", 1.1e7}}, 200));
  EXPECT_TRUE(sweep.best == 1 || sweep.best == 2);
  EXPECT_TRUE(sweep.values[3 - sweep.best].tie);
  EXPECT_FALSE(sweep.values[sweep.best].tie);
  EXPECT_FALSE(sweep.values[sweep.best].beside_best);
  EXPECT_FALSE(sweep.values[0].tie);
  EXPECT_FALSE(sweep.values[3].tie);
  EXPECT_NEAR(sweep.values[0].beside_best->ratio, 1.2, 0.02);
  EXPECT_LT(*sweep.values[0].q, 0.001);
  EXPECT_TRUE(sweep.enough_data);
}

TEST(Sweep, OfFewStepsEverythingIsATie) {
  const Sweep sweep = compare_values(values_of({{"1", 1.2e7}, {"2", 1.0e7}}, 2));
  EXPECT_EQ(sweep.best, 1U);
  EXPECT_TRUE(sweep.values[0].tie);
  EXPECT_FALSE(sweep.enough_data);
}

TEST(Sweep, OfOneValueHasABest) {
  const Sweep sweep = compare_values(values_of({{"only", 1e7}}, 20));
  EXPECT_EQ(sweep.best, 0U);
  EXPECT_FALSE(sweep.values[0].tie);
}

// Twenty equal values: the one that is fastest by chance is hardly ahead of the others.
TEST(Sweep, ManyEqualValuesTie) {
  std::vector<std::pair<std::string, double>> equal;
  for (int i = 0; i < 20; ++i) equal.emplace_back(std::to_string(i), 1e7);
  int apart = 0;
  for (const SweptValue& v : compare_values(values_of(equal, 100)).values)
    apart += v.beside_best && !v.tie;
  EXPECT_LE(apart, 1);
}

}  // namespace
}  // namespace stepscope
