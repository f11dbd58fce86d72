// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/student_t.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace stepscope {
namespace {

TEST(StudentT, HasTheClosedFormsOfFewDegrees) {
  for (const double t : {0.0, 0.1, 1.0, 3.0, 40.0, 1e4}) {
    EXPECT_NEAR(student_t_tails(t, 1), 1 - 2 / std::numbers::pi * std::atan(t), 1e-12) << t;
    EXPECT_NEAR(student_t_tails(t, 2), 1 - t / std::sqrt(2 + t * t), 1e-12) << t;
  }
}

TEST(StudentT, IsTheNormalDistributionWithManyDegrees) {
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_NEAR(student_t_tails(1.959963984540054, infinite), 0.05, 1e-12);
  EXPECT_NEAR(student_t_tails(1.959963984540054, 9e7), 0.05, 1e-8);
}

// Values of the usual table: two-sided 5 % and 1 %.
TEST(StudentT, HasTheTabulatedCriticalValues) {
  EXPECT_NEAR(student_t_critical(0.05, 1), 12.7062, 5e-5);
  EXPECT_NEAR(student_t_critical(0.05, 4), 2.776445, 5e-7);
  EXPECT_NEAR(student_t_critical(0.05, 10), 2.228139, 5e-7);
  EXPECT_NEAR(student_t_critical(0.05, 120), 1.979930, 5e-7);
  EXPECT_NEAR(student_t_critical(0.01, 30), 2.749996, 5e-7);
}

TEST(StudentT, CriticalValuesInvertTheTails) {
  for (const double degrees : {0.7, 1.5, 7.3, 512.0, 3e6})
    for (const double alpha : {0.2, 0.05, 1e-4})
      EXPECT_NEAR(student_t_tails(student_t_critical(alpha, degrees), degrees) / alpha, 1, 1e-7)
          << degrees << ' ' << alpha;
}

TEST(StudentT, IsZeroAtInfinity) {
  EXPECT_EQ(student_t_tails(std::numeric_limits<double>::infinity(), 3), 0);
  EXPECT_EQ(student_t_tails(0, 3), 1);
}

}  // namespace
}  // namespace stepscope
