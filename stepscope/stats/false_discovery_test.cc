// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/false_discovery.h"

#include <gtest/gtest.h>

#include <vector>

namespace stepscope {
namespace {

using Doubles = std::vector<double>;

// The example of Benjamini and Hochberg (1995), section 3.2: 4 of 15 are significant at 5 %.
TEST(FalseDiscovery, CallsFourOfThePapersExample) {
  const Doubles p = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                     0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
  const Doubles q = false_discovery_rates(p);
  EXPECT_NEAR(q[3], 0.0095 * 15 / 4, 1e-12);
  int called = 0;
  for (const double rate : q) called += rate <= 0.05;
  EXPECT_EQ(called, 4);
}

TEST(FalseDiscovery, IsMonotoneInPAndKeepsTheOrderGiven) {
  EXPECT_EQ(false_discovery_rates(Doubles{0.04, 0.01, 0.03, 1}),
            (Doubles{0.04 * 4 / 3, 0.04, 0.04 * 4 / 3, 1}));
  EXPECT_TRUE(false_discovery_rates(Doubles{}).empty());
  EXPECT_EQ(false_discovery_rates(Doubles{0.7}), Doubles{0.7});
}

}  // namespace
}  // namespace stepscope
