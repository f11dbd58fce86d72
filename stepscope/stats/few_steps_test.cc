// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/few_steps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "stepscope/stats/student_t.h"

namespace stepscope {
namespace {

using Doubles = std::vector<double>;

class Arms {
 public:
  // AR(1) of variance 1 around `level`, which rises by `rise` from the first value to the last.
  Doubles draw(int n, double rho, double level = 0, double rise = 0) {
    Doubles x;
    double v = normal_(random_);
    for (int i = 0; i < n; ++i) {
      if (i > 0) v = rho * v + std::sqrt(1 - rho * rho) * normal_(random_);
      x.push_back(level + rise * i / (n - 1) + v);
    }
    return x;
  }

 private:
  std::mt19937_64 random_{5};
  std::normal_distribution<double> normal_;
};

double p_of(const Doubles& a, const Doubles& b) {
  const Series in_a = a;
  const Series in_b = b;
  const double lag1 = lag1_bound({&in_a, 1}, {&in_b, 1});
  const MeanEstimate d = difference_of(mean_estimate({&in_a, 1}, lag1),
                                       mean_estimate({&in_b, 1}, lag1), a.size() == b.size());
  return student_t_tails(std::fabs(d.mean) / std::sqrt(d.variance), d.degrees);
}

// At a true rate of 5 %, more than 123 of 2,000 have a probability of 1 %.
TEST(FewSteps, EqualArmsAreRarelyCalledDifferent) {
  constexpr int pairs = 2000;
  constexpr int most = 123;
  Arms arms;
  int before = 0;  // found of a change of 5 with fewer values
  for (const int n : {3, 4, 5, 6, 7, 8, 10, 15, 20, 40, 80}) {
    std::printf("%d steps an arm:", n);
    for (const double rho : {0.0, 0.3, 0.6, 0.9, 0.99}) {
      int wrong = 0;
      for (int i = 0; i < pairs; ++i) wrong += p_of(arms.draw(n, rho), arms.draw(n, rho)) < 0.05;
      std::printf(" %g: %.1f %%", rho, 100.0 * wrong / pairs);
      if (rho <= 0.9) {
        EXPECT_LE(wrong, most) << n << " " << rho;
      }
    }
    for (const double rise : {2.0, 10.0}) {
      int wrong = 0;
      for (int i = 0; i < pairs; ++i)
        wrong += p_of(arms.draw(n, 0, 0, rise), arms.draw(n, 0, 0, rise)) < 0.05;
      std::printf(" rise %g: %.1f %%", rise, 100.0 * wrong / pairs);
      EXPECT_LE(wrong, most) << n << " rise " << rise;
    }
    int wrong = 0;
    for (int i = 0; i < pairs; ++i) {
      Doubles wide = arms.draw(n, 0);
      for (double& v : wide) v *= 3;
      wrong += p_of(arms.draw(2 * n, 0), wide) < 0.05;
    }
    std::printf(" unequal: %.1f %%", 100.0 * wrong / pairs);
    EXPECT_LE(wrong, most) << n << " unequal";
    for (const double change : {10.0, 5.0}) {
      int found = 0;
      for (int i = 0; i < pairs; ++i)
        found += p_of(arms.draw(n, 0), arms.draw(n, 0, change)) < 0.05;
      std::printf(" change %g: %.1f %%", change, 100.0 * found / pairs);
      if (n >= (change > 5 ? 5 : 10)) {
        EXPECT_GE(found, pairs * 80 / 100) << n;
      }
      if (change > 5) continue;
      EXPECT_GE(found, before - pairs / 100) << n << ": more values find less";
      before = found;
    }
    std::printf("\n");
  }
}

// With its own coefficient the variance of the mean is exact.
TEST(FewSteps, TheVarianceOfTheMeanIsThatOfRepeatedDraws) {
  Arms arms;
  for (const double rho : {0.0, 0.5, 0.9})
    for (const int n : {3, 6, 20}) {
      double estimated = 0;
      double squares = 0;
      constexpr int draws = 4000;
      for (int i = 0; i < draws; ++i) {
        const Doubles x = arms.draw(n, rho);
        const Series in = x;
        const MeanEstimate e = mean_estimate({&in, 1}, rho);
        estimated += e.variance / draws;
        squares += e.mean * e.mean / draws;
      }
      EXPECT_NEAR(estimated / squares, 1, 0.12) << rho << " " << n;
    }
}

TEST(FewSteps, EachLaunchHasItsOwnMean) {
  const Doubles first = {1, 2, 3};
  const Doubles second = {101, 102, 103, 104};
  const std::vector<Series> arm = {first, second};
  const MeanEstimate both = mean_estimate(arm, 0);
  EXPECT_DOUBLE_EQ(both.mean, (1 + 2 + 3 + 101 + 102 + 103 + 104) / 7.0);
  EXPECT_DOUBLE_EQ(both.degrees, 5);
  EXPECT_DOUBLE_EQ(both.variance, (2.0 + 5.0) / 5 / 7);
}

TEST(FewSteps, ValuesThatDoNotVaryHaveTheLargestBound) {
  const Doubles same = {5, 5, 5, 5};
  const Series in = same;
  EXPECT_NEAR(lag1_bound({&in, 1}, {&in, 1}), 0.91, 1e-12);
  EXPECT_EQ(mean_estimate({&in, 1}, 0.5).variance, 0);
}

}  // namespace
}  // namespace stepscope
