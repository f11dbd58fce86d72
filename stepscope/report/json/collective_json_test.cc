// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/collective_json.h"

#include <gtest/gtest.h>

#include "stepscope/report/sentences/verb_test_results.h"

namespace stepscope {
namespace {

using namespace test;

TEST(CollectiveJson, GivesRatesOfEveryAlgorithmInJson) {
  const Json tree = collective_tree(two_sizes());
  ASSERT_EQ(tree["sizes"].size(), 2U);
  const Json& ring = tree["sizes"][1]["algorithms"][0];
  EXPECT_EQ(ring["name"], "ring");
  EXPECT_DOUBLE_EQ(ring["time_ns"].get<double>(), 20'000);
  EXPECT_DOUBLE_EQ(ring["algbw_gb_per_s"].get<double>(), 100);
  EXPECT_DOUBLE_EQ(ring["busbw_gb_per_s"].get<double>(), 100.0 * 15 / 16);
  EXPECT_EQ(tree["crossovers"][0]["bytes"], 40'000);
}

}  // namespace
}  // namespace stepscope
