// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/persistence.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(Persistence, OfTwoTakesThreeQuarters) {
  EXPECT_TRUE(persistently_worst(6, 8, 2));
  EXPECT_FALSE(persistently_worst(5, 8, 2));
}

TEST(Persistence, OfManyTakesLittleMoreThanHalf) {
  EXPECT_TRUE(persistently_worst(51, 100, 128));
  EXPECT_FALSE(persistently_worst(50, 100, 128));
}

TEST(Persistence, WithoutTrialsNothingStandsOut) { EXPECT_FALSE(persistently_worst(0, 0, 4)); }

TEST(Persistence, ChanceAloneDoesNotReachIt) {
  for (int members = 2; members < 2000; ++members)
    EXPECT_FALSE(persistently_worst(1000, 1000 * members, members)) << members;
}

}  // namespace
}  // namespace stepscope
