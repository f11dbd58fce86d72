// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/compare_json.h"

#include <gtest/gtest.h>

#include "stepscope/report/sentences/verb_test_results.h"

namespace stepscope {
namespace {

using namespace test;

TEST(CompareJson, HasTheDifferencesOfParts) {
  EXPECT_EQ(compare_tree(slower_with_parts())["parts"][0]["difference_ns"], 8e6);
}

}  // namespace
}  // namespace stepscope
