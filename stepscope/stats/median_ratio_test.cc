// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/median_ratio.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <vector>

namespace stepscope {
namespace {

using Doubles = std::vector<double>;

class Steps {
 public:
  explicit Steps(unsigned seed) : random_(seed) {}
  // AR(1) around `level` with a standard deviation of 3 %.
  Doubles draw(std::size_t n, double rho, double level = 100) {
    Doubles x(n);
    double v = noise_(random_);
    for (double& out : x) {
      out = level * (1 + 0.03 * v);
      v = rho * v + std::sqrt(1 - rho * rho) * noise_(random_);
    }
    return x;
  }
  double normal() { return noise_(random_); }

 private:
  std::mt19937 random_;
  std::normal_distribution<double> noise_;
};

RatioTest test(const Doubles& a, const Doubles& b, const RatioOptions& options = {}) {
  const Series in_a = a;
  const Series in_b = b;
  return test_ratio({&in_a, 1}, {&in_b, 1}, options);
}

bool called(const RatioTest& t) {
  return t.verdict == Verdict::slower || t.verdict == Verdict::faster;
}

TEST(MedianRatio, ALargeChangeIsCalledWithItsSize) {
  Steps steps(1);
  const RatioTest t = test(steps.draw(300, 0.3), steps.draw(300, 0.3, 110));
  EXPECT_EQ(t.verdict, Verdict::slower);
  EXPECT_NEAR(t.ratio, 1.1, 0.01);
  ASSERT_TRUE(t.interval);
  EXPECT_LT(t.interval->first, 1.1);
  EXPECT_GT(t.interval->second, 1.1);
  EXPECT_GT(t.interval->first, 1.08);
  EXPECT_LT(*t.p, 1e-6);
}

TEST(MedianRatio, ExchangedArmsGiveTheInverse) {
  Steps steps(2);
  const Doubles a = steps.draw(200, 0.3);
  const Doubles b = steps.draw(200, 0.3, 106);
  const RatioTest ab = test(a, b);
  const RatioTest ba = test(b, a);
  EXPECT_EQ(ab.verdict, Verdict::slower);
  EXPECT_EQ(ba.verdict, Verdict::faster);
  EXPECT_NEAR(ab.ratio * ba.ratio, 1, 1e-12);
  EXPECT_NEAR(*ab.p, *ba.p, 1e-9);
}

// The result does not depend on the unit of time.
TEST(MedianRatio, DoesNotDependOnTheUnit) {
  Steps steps(3);
  Doubles a = steps.draw(100, 0.5);
  Doubles b = steps.draw(100, 0.5, 101);
  const RatioTest in_ms = test(a, b);
  for (Doubles* arm : {&a, &b})
    for (double& v : *arm) v *= 1e6;
  const RatioTest in_ns = test(a, b);
  EXPECT_NEAR(in_ms.interval->first, in_ns.interval->first, 1e-9);
  EXPECT_NEAR(*in_ms.p, *in_ns.p, 1e-9);
}

// Both arms are the same process. bench/compare counts more cases; this is a regression check. At a
// true rate of 5 %, more than 32 of 400 have a probability of 0.3 %.
TEST(MedianRatio, EqualArmsAreRarelyCalledDifferent) {
  for (const double rho : {0.0, 0.6}) {
    Steps steps(4);
    int wrong = 0;
    for (int i = 0; i < 400; ++i)
      wrong += called(test(steps.draw(50, rho), steps.draw(50, rho),
                           {.floor = 0, .least_effective = 0, .replicates = 200}));
    EXPECT_LE(wrong, 32) << rho;
  }
}

// 2 % at a deviation of 3 % with 200 steps: found in at least 80 % of cases at rho = 0.6.
TEST(MedianRatio, AChangeOfTwoPercentIsFound) {
  Steps steps(5);
  int found = 0;
  for (int i = 0; i < 200; ++i)
    found += test(steps.draw(200, 0.6), steps.draw(200, 0.6, 102), {.replicates = 200}).verdict ==
             Verdict::slower;
  EXPECT_GE(found, 150);
}

TEST(MedianRatio, AChangeBelowTheFloorIsNotCalled) {
  Steps steps(6);
  const Doubles a = steps.draw(20'000, 0.3);
  const Doubles b = steps.draw(20'000, 0.3, 100.5);
  EXPECT_EQ(test(a, b).verdict, Verdict::same);
  EXPECT_EQ(test(a, b, {.floor = 0}).verdict, Verdict::slower);
}

TEST(MedianRatio, WhatCannotBeToldIsSaid) {
  Steps steps(7);
  EXPECT_EQ(test(steps.draw(30, 0), steps.draw(30, 0)).verdict, Verdict::inconclusive);
  EXPECT_EQ(test(steps.draw(7, 0), steps.draw(500, 0)).verdict, Verdict::not_enough_data);
  // Many correlated steps count as few.
  const RatioTest t = test(steps.draw(60, 0.95), steps.draw(60, 0.95));
  EXPECT_LT(t.a.run.effective, 8);
  EXPECT_EQ(t.verdict, Verdict::not_enough_data);
  EXPECT_TRUE(t.few);
}

// A change far beyond the spread is called whatever the number of effective steps.
TEST(MedianRatio, AClearChangeIsNeverTooLittleData) {
  Steps steps(12);
  for (const double rho : {0.0, 0.9})
    for (const std::size_t n : {std::size_t{5}, std::size_t{7}, std::size_t{40}}) {
      int found = 0;
      for (int i = 0; i < 50; ++i) {
        const RatioTest t = test(steps.draw(n, rho), steps.draw(n, rho, 400), {.replicates = 200});
        EXPECT_TRUE(t.verdict == Verdict::slower || *t.p >= 0.05);
        found += t.verdict == Verdict::slower;
      }
      EXPECT_GE(found, 38) << n << " " << rho;
    }
  const RatioTest three = test({100, 101, 100.5}, {130, 131, 130.2});
  EXPECT_EQ(three.verdict, Verdict::slower);
  EXPECT_EQ(test({100, 100}, {130, 130}).verdict, Verdict::not_enough_data);
}

// 2 of the 70 orders of eight exchangeable steps put all of one arm above the other. The interval
// is of the ratios of a step of B to one of A.
TEST(MedianRatio, FourStepsThatDoNotOverlapWithFourAreEnoughForALargeChange) {
  const Doubles a = {101, 126, 88, 97};
  const Doubles b = {188, 231, 164, 193};
  const RatioTest t = test(a, b);
  ASSERT_TRUE(t.p_separated);
  EXPECT_NEAR(*t.p_separated, 2.0 / 70, 1e-9);
  EXPECT_EQ(t.verdict, Verdict::slower);
  EXPECT_LT(*t.p, 0.03);
  ASSERT_TRUE(t.interval);
  EXPECT_GT(t.interval->first, 1);
  EXPECT_LE(t.interval->second, 231.0 / 88 + 1e-9);
  EXPECT_EQ(test(b, a).verdict, Verdict::faster);
  // By less than a half, launches of one program differ too. Three steps against three are too few.
  Doubles third = a;
  for (double& v : third) v = 1.2 * v + 25;
  const RatioTest less = test(a, third);
  ASSERT_TRUE(less.p_separated);
  EXPECT_LT(less.ratio, 1.5);
  EXPECT_EQ(less.verdict, Verdict::not_enough_data);
  EXPECT_EQ(test({101, 126, 88}, {188, 231, 164}).verdict, Verdict::not_enough_data);
  EXPECT_FALSE(test(a, {188, 231, 120, 193}).p_separated);
}

// Steps that drift are worth one independent step, and still none of A is as long as any of B.
TEST(MedianRatio, ChangesThatDwarfADriftAreCalled) {
  const Doubles a = {96, 97, 98, 100, 101, 103, 104, 106};
  const Doubles b = {181, 184, 188, 190, 193, 196, 199, 203};
  const RatioTest t = test(a, b);
  EXPECT_DOUBLE_EQ(t.a.run.effective, 1);
  EXPECT_DOUBLE_EQ(t.b.run.effective, 1);
  EXPECT_EQ(t.verdict, Verdict::slower);
  Doubles third = a;
  for (double& v : third) v *= 1.12;
  EXPECT_EQ(test(a, third).verdict, Verdict::not_enough_data);
}

// Four steps (ms) of 15 launches of one training program, recorded during ten compilations on two
// cores. Their levels differ: many pairs do not overlap. A program that takes 1.9 × as long does
// not overlap with most of them.
TEST(MedianRatio, RecordedLaunchesOfOneProgramAreRarelyCalledDifferent) {
  const std::vector<Doubles> launches = {
      {194, 216, 218, 249}, {276, 247, 302, 282}, {271, 270, 322, 277}, {280, 258, 201, 253},
      {267, 248, 211, 256}, {203, 203, 185, 201}, {206, 290, 205, 220}, {186, 196, 212, 199},
      {220, 226, 221, 236}, {231, 227, 202, 246}, {242, 182, 212, 183}, {188, 208, 243, 173},
      {133, 155, 179, 176}, {209, 193, 180, 226}, {235, 220, 224, 221}};
  int separated = 0;
  int wrong = 0;
  int found = 0;
  int pairs = 0;
  for (std::size_t i = 0; i < launches.size(); ++i)
    for (std::size_t j = 0; j < launches.size(); ++j) {
      if (i == j) continue;
      Doubles slower = launches[j];
      for (double& v : slower) v *= 1.9;
      const RatioTest equal = test(launches[i], launches[j], {.replicates = 200});
      ++pairs;
      separated += equal.p_separated.has_value();
      wrong += called(equal);
      found += test(launches[i], slower, {.replicates = 200}).verdict == Verdict::slower;
    }
  EXPECT_GT(separated, pairs / 4);
  EXPECT_LE(wrong, pairs / 20);
  EXPECT_GE(found, pairs * 8 / 10);
}

// Equal arms of few steps, also strongly correlated ones: at a true rate of 5 %, more than 32 of
// 400 have a probability of 0.3 %. Fewer than a hundred steps are not tested for a coefficient of
// 0.99. Half of the draws have outliers of twice the step, which hide the correlation of the
// others.
TEST(MedianRatio, EqualArmsOfFewStepsAreRarelyCalledDifferent) {
  for (const std::size_t n :
       {std::size_t{4}, std::size_t{6}, std::size_t{12}, std::size_t{40}, std::size_t{160}})
    for (const double rho : {0.0, 0.6, 0.9, 0.99})
      for (const bool outliers : {false, true}) {
        if (n < 100 && rho > 0.9) continue;
        Steps steps(13);
        int wrong = 0;
        for (int i = 0; i < 400; ++i) {
          Doubles a = steps.draw(n, rho);
          Doubles b = steps.draw(n, rho);
          for (Doubles* arm : {&a, &b})
            for (double& v : *arm)
              if (outliers && steps.normal() > 1.4) v *= 2;
          wrong += called(test(a, b, {.replicates = 200}));
        }
        EXPECT_LE(wrong, 32) << n << " " << rho << " " << outliers;
      }
}

// A change of a fifth with five steps and of a tenth with ten, both of 2 % noise.
TEST(MedianRatio, AFewIndependentStepsAreEnoughForAClearChange) {
  std::mt19937 random(29);
  std::normal_distribution<double> noise;
  const auto draw = [&](std::size_t n, double level) {
    Doubles x(n);
    for (double& v : x) v = level * (1 + 0.02 * noise(random));
    return x;
  };
  int fifth = 0;
  int tenth = 0;
  for (int i = 0; i < 200; ++i) {
    fifth += test(draw(5, 100), draw(5, 120)).verdict == Verdict::slower;
    tenth += test(draw(10, 100), draw(10, 90)).verdict == Verdict::faster;
  }
  std::printf("found: a fifth %d, a tenth %d of 200\n", fifth, tenth);
  EXPECT_GE(fifth, 150);
  EXPECT_GE(tenth, 170);
}

// At a true rate of 5 %, more than 123 of 2,000 have a probability of 1 %.
TEST(MedianRatio, TheEstimateAndTheBoundTogetherKeepTheLevel) {
  constexpr int pairs = 2000;
  for (const std::size_t n : {std::size_t{5}, std::size_t{8}, std::size_t{10}, std::size_t{20}}) {
    std::printf("%zu steps an arm:", n);
    for (const double rho : {0.0, 0.6, 0.9}) {
      Steps steps(31);
      int wrong = 0;
      for (int i = 0; i < pairs; ++i)
        wrong +=
            called(test(steps.draw(n, rho), steps.draw(n, rho), {.floor = 0, .replicates = 99}));
      std::printf(" %g: %.1f %%", rho, 100.0 * wrong / pairs);
      EXPECT_LE(wrong, 123) << n << " " << rho;
    }
    std::printf("\n");
  }
}

// Ten independent steps whose estimated correlation happens to be high: A rises by 3 %.
TEST(MedianRatio, MoreStepsSayWhatFewerHaveSaid) {
  const Doubles a = {98.2, 98.9, 99.4, 98.6, 100.0, 100.2, 100.6, 100.7, 101.5, 101.2};
  const Doubles b = {78.7, 79.5, 78.9, 78.9, 79.9, 80.0, 80.5, 78.4, 78.8, 80.0};
  for (const std::size_t n : {std::size_t{5}, std::size_t{8}, std::size_t{10}}) {
    const auto first = [n](const Doubles& x) {
      return Doubles(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(n));
    };
    const RatioTest t = test(first(a), first(b));
    EXPECT_EQ(t.verdict, Verdict::faster) << n;
    EXPECT_LT(*t.p, 0.01) << n;
  }
  // A change of 20 standard deviations is found at every number of steps.
  Steps steps(37);
  int lost = 0;
  for (int i = 0; i < 200; ++i) {
    const Doubles c = steps.draw(12, 0, 100);
    const Doubles d = steps.draw(12, 0, 160);
    for (const std::size_t n : {std::size_t{5}, std::size_t{7}, std::size_t{9}, std::size_t{12}})
      lost += !called(test({c.begin(), c.begin() + static_cast<std::ptrdiff_t>(n)},
                           {d.begin(), d.begin() + static_cast<std::ptrdiff_t>(n)},
                           {.replicates = 99}));
  }
  EXPECT_LE(lost, 4);
}

// Three steps that differ by far more than the arms do show no ratio.
TEST(MedianRatio, WhatIsNotKnownHasNoInterval) {
  const RatioTest t = test({1100, 100, 100}, {100.1, 100.7, 100.2, 101.1});
  EXPECT_FALSE(t.interval);
  EXPECT_TRUE(t.p);
  EXPECT_EQ(t.verdict, Verdict::not_enough_data);
}

TEST(MedianRatio, OneStepAnArmHasARatioOnly) {
  const RatioTest t = test({100}, {120});
  EXPECT_DOUBLE_EQ(t.ratio, 1.2);
  EXPECT_FALSE(t.interval);
  EXPECT_FALSE(t.p);
  EXPECT_EQ(t.verdict, Verdict::not_enough_data);
}

TEST(MedianRatio, EqualStepTimesHaveAnIntervalOfNoWidth) {
  const RatioTest apart = test(Doubles(20, 100.0), Doubles(20, 105.0));
  EXPECT_EQ(apart.verdict, Verdict::slower);
  EXPECT_NEAR(apart.interval->first, 1.05, 1e-12);
  EXPECT_NEAR(apart.interval->second, 1.05, 1e-12);
  EXPECT_EQ(*apart.p, 0);
  const RatioTest equal = test(Doubles(20, 100.0), Doubles(20, 100.0), {.floor = 0});
  EXPECT_EQ(equal.verdict, Verdict::same);
  EXPECT_EQ(*equal.p, 1);
}

// Checkpoints every 20 steps in one arm neither hide a change of the other steps nor make one.
TEST(MedianRatio, OutliersNeitherHideNorMakeAChange) {
  Steps steps(8);
  Doubles a = steps.draw(300, 0.3);
  Doubles b = steps.draw(300, 0.3, 104);
  for (std::size_t i = 10; i < a.size(); i += 20) a[i] = 1000;
  EXPECT_EQ(test(a, b).verdict, Verdict::slower);
  Doubles c = steps.draw(300, 0.3);
  EXPECT_FALSE(called(test(a, c)));
}

// Each launch has its own level, so thousands of steps of two launches count as two launches.
TEST(MedianRatio, LaunchesThatDifferAreTheUnit) {
  Steps steps(9);
  int wrong = 0;
  int wrong_joined = 0;
  for (int i = 0; i < 200; ++i) {
    std::array<Doubles, 6> launch;
    for (Doubles& l : launch) l = steps.draw(100, 0.3, 100 * (1 + 0.03 * steps.normal()));
    const std::array<Series, 3> a = {launch[0], launch[1], launch[2]};
    const std::array<Series, 3> b = {launch[3], launch[4], launch[5]};
    const RatioOptions options{.floor = 0, .replicates = 100};
    wrong += called(test_ratio(a, b, options));
    wrong_joined += called(test(launch[0], launch[3], options));
  }
  EXPECT_LE(wrong, 20);          // at 5 %: 10
  EXPECT_GE(wrong_joined, 100);  // one launch an arm cannot decide
}

TEST(MedianRatio, LaunchesThatAgreeFindAChange) {
  Steps steps(10);
  std::array<Doubles, 6> launch;
  for (std::size_t i = 0; i < 6; ++i) launch[i] = steps.draw(100, 0.3, i < 3 ? 100 : 105);
  const std::array<Series, 3> a = {launch[0], launch[1], launch[2]};
  const std::array<Series, 3> b = {launch[3], launch[4], launch[5]};
  const RatioTest t = test_ratio(a, b);
  EXPECT_EQ(t.verdict, Verdict::slower);
  ASSERT_TRUE(t.p_launches);
  EXPECT_EQ(*t.p, std::max(*t.p_steps, *t.p_launches));
  EXPECT_GT(t.interval->first, 1);
}

TEST(Difference, HasItsIntervalAndP) {
  Steps steps(11);
  const Doubles a = steps.draw(400, 0.3);
  const Doubles b = steps.draw(400, 0.3, 103);
  const Series in_a = a;
  const Series in_b = b;
  const DifferenceTest t = test_difference({&in_a, 1}, {&in_b, 1});
  EXPECT_NEAR(t.difference, 3, 0.8);
  EXPECT_LT(t.interval->first, 3);
  EXPECT_GT(t.interval->second, 3);
  EXPECT_LT(*t.p, 1e-6);
  EXPECT_EQ(*test_difference({&in_a, 1}, {&in_a, 1}).p, 1);
}

TEST(Difference, OfPartsThatNeverVaryIsCertain) {
  const Doubles nothing(5, 0.0);
  const Doubles some(5, 2.0);
  const Series a = nothing;
  const Series b = some;
  EXPECT_EQ(*test_difference({&a, 1}, {&b, 1}).p, 0);
  EXPECT_EQ(*test_difference({&a, 1}, {&a, 1}).p, 1);
  const Series one = Series(some).first(1);
  EXPECT_FALSE(test_difference({&a, 1}, {&one, 1}).p);
}

// A machine warms up by 1 a launch. A B A B counts a difference of 1, A B B A counts none.
TEST(Drift, OfTheLaunchesBiasesOnlyAnUnbalancedOrder) {
  constexpr std::array<bool, 8> abab = {false, true, false, true, false, true, false, true};
  constexpr std::array<bool, 8> abba = {false, true, true, false, false, true, true, false};
  const Doubles value = {100, 101.1, 102, 102.9, 104, 105.1, 106, 106.9};
  const auto drift = find_launch_drift(abab, value);
  ASSERT_TRUE(drift);
  EXPECT_NEAR(drift->slope, 1, 0.05);
  EXPECT_LT(drift->p, 1e-4);
  EXPECT_NEAR(drift->bias, 1, 0.05);
  EXPECT_NEAR(find_launch_drift(abba, value)->bias, 0, 1e-12);
  EXPECT_GT(find_launch_drift(abba, Doubles{3, 1, 2, 2, 1, 3, 2, 2})->p, 0.05);
  EXPECT_FALSE(find_launch_drift(std::span(abba).first(4), Doubles{1, 2, 3, 4}));
}

// Three steps have no outlier whose place could be moved: the spread is theirs.
TEST(MedianRatio, FewStepsCountAsTheyAre) {
  const Doubles few = {94.382, 94.514, 93.037};
  const Series series = few;
  Doubles logs;
  for (const double v : few) logs.push_back(std::log(v));
  const Series as_they_are = logs;
  EXPECT_DOUBLE_EQ(long_run_of_steps({&series, 1}).variance, long_run({&as_they_are, 1}).variance);
}

}  // namespace
}  // namespace stepscope
