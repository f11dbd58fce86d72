// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/nearest_names.h"

#include <gtest/gtest.h>

#include <array>

namespace stepscope {
namespace {

constexpr std::array<std::string_view, 4> names = {"llama-2-7b", "llama-2-70b", "gpt3-175b", "x"};

TEST(NearestNames, AreTheNearestNearestFirst) {
  EXPECT_EQ(nearest_names("llama-2-70", names), "llama-2-70b or llama-2-7b");
}

TEST(NearestNames, AreOneWhereNoOtherIsMeant) {
  EXPECT_EQ(nearest_names("llama_2_70B", names), "llama-2-70b");
  EXPECT_EQ(nearest_names("gpt-175b", names), "gpt3-175b");
}

TEST(NearestNames, ThatBeginWithTheNameComeFirst) {
  EXPECT_TRUE(nearest_names("gpt", names).starts_with("gpt3-175b, x"));
}

TEST(NearestNames, IgnoreCase) { EXPECT_EQ(nearest_names("GPT3-175B", names), "gpt3-175b"); }

TEST(NearestNames, OfFewAreFew) {
  EXPECT_EQ(nearest_names("y", std::span(names).subspan(3)), "x");
  EXPECT_EQ(nearest_names("y", std::span(names).subspan(2)), "x or gpt3-175b");
  EXPECT_EQ(nearest_names("y", {}), "");
}

TEST(NearestNames, OfAnAbsurdlyLongNameAreFoundAtOnce) {
  EXPECT_FALSE(nearest_names(std::string(10'000'000, 'a'), names).empty());
}

}  // namespace
}  // namespace stepscope
