// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/lateness/excess.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace stepscope {
namespace {

using Excesses = std::vector<double>;

TEST(Excess, OneStepTellsNothingAndTwoMustBeAlike) {
  EXPECT_FALSE(stands_out(Excesses{}));
  EXPECT_FALSE(stands_out(Excesses{9}));
  EXPECT_TRUE(stands_out(Excesses{9, 6}));
  EXPECT_FALSE(stands_out(Excesses{9, 4}));
  EXPECT_FALSE(stands_out(Excesses{-9, -9}));
}

TEST(Excess, EachStepLateStandsOutHoweverSmall) {
  EXPECT_TRUE(stands_out(Excesses{1, 1, 1, 1}));
  EXPECT_TRUE(stands_out(Excesses{10, 11, 9, 10, 10.5}));
  EXPECT_FALSE(stands_out(Excesses{0, 0, 0, 0}));
}

TEST(Excess, OneLongStepNeitherMakesNorHidesIt) {
  EXPECT_FALSE(stands_out(Excesses{0, 0, 0, 900, 0, 0}));
  EXPECT_TRUE(stands_out(Excesses{10, 11, 9, 900, 10, 10}));
}

TEST(Excess, WhatComesInHalfOfTheStepsDoesNotStandOut) {
  EXPECT_FALSE(stands_out(Excesses{0, 10, 0, 10, 0, 10, 0, 10}));
}

// One of a hundred series of normal values without an excess stands out, however short.
TEST(Excess, NoiseSeldomStandsOut) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise;
  for (const int steps : {4, 6, 10, 20}) {
    int found = 0;
    for (int draw = 0; draw < 4000; ++draw) {
      Excesses excess;
      for (int k = 0; k < steps; ++k) excess.push_back(noise(random));
      found += stands_out(excess) ? 1 : 0;
    }
    EXPECT_LE(found, 60) << steps;
  }
}

TEST(Excess, BeginsWhereTheLaterStepsHaveIt) {
  EXPECT_EQ(begins_at(Excesses{0, 1, 0, 0, 20, 21, 20, 19}), 4U);
  EXPECT_EQ(begins_at(Excesses{20, 21, 20, 19}), 4U);
  EXPECT_EQ(begins_at(Excesses{0, 0, 20, 0, 0, 0}), 6U);
  EXPECT_EQ(begins_at(Excesses{10, 10, 10, 20, 20, 20}), 6U);
  EXPECT_EQ(begins_at(Excesses{}), 0U);
}

}  // namespace
}  // namespace stepscope
