// SPDX-License-Identifier: Apache-2.0
#include "stepscope/live/find_period.h"

#include <gtest/gtest.h>

#include <vector>

namespace stepscope {
namespace {

std::vector<std::uint64_t> repeated(const std::vector<std::uint64_t>& unit, std::size_t length) {
  std::vector<std::uint64_t> out;
  for (std::size_t i = 0; i < length; ++i) out.push_back(unit[i % unit.size()]);
  return out;
}

TEST(FindPeriod, FindsTheSmallest) {
  EXPECT_EQ(find_period(repeated({5, 5, 5, 1}, 40)), 4U);
  EXPECT_EQ(find_period(repeated({5}, 40)), 1U);
  EXPECT_EQ(find_period(repeated({1, 2, 1, 2, 1, 2, 1, 3}, 64)), 8U);
}

TEST(FindPeriod, IgnoresWhatCameBefore) {
  auto values = std::vector<std::uint64_t>{9, 9, 8, 7};
  for (const std::uint64_t v : repeated({1, 2, 3}, 30)) values.push_back(v);
  EXPECT_EQ(find_period(values), 3U);
}

TEST(FindPeriod, NeedsThreeRepetitionsAndEnoughValues) {
  EXPECT_EQ(find_period(repeated({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 29)), std::nullopt);
  EXPECT_EQ(find_period(repeated({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 30)), 10U);
  EXPECT_EQ(find_period(repeated({1}, 23)), std::nullopt);
  EXPECT_EQ(find_period({}), std::nullopt);
  std::vector<std::uint64_t> never;
  for (std::uint64_t i = 0; i < 100; ++i) never.push_back(i * i);
  EXPECT_EQ(find_period(never), std::nullopt);
}

}  // namespace
}  // namespace stepscope
