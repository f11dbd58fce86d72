// SPDX-License-Identifier: Apache-2.0
#include "stepscope/pipeline/stacks.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace stepscope {
namespace {

std::string file_with(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

const std::string& profile() {
  static const std::string path =
      file_with("stacks_test.collapsed", "main;train;forward 30\nmain;train;backward 70\n");
  return path;
}

TEST(Stacks, OwnWhatTheyTell) {
  auto result = stacks({.profiles = {profile()}});
  ASSERT_TRUE(result) << result.error().message();
  const StacksResult kept = std::move(*result);
  EXPECT_EQ(kept.summary.weight, 100);
  EXPECT_EQ(kept.profile.inputs.size(), 1U);
  EXPECT_GT(kept.flame.size(), 0U);
  EXPECT_FALSE(kept.trace);
}

TEST(Stacks, AnEarlierProfileStandsBesideThem) {
  const std::string earlier = file_with("stacks_test_earlier.collapsed", "main;train;forward 50\n");
  const auto result = stacks({.profiles = {profile()}, .against = earlier});
  ASSERT_TRUE(result) << result.error().message();
  ASSERT_TRUE(result->before);
  EXPECT_EQ(result->before->summary.weight, 50);
  const auto lost = stacks({.profiles = {profile()}, .against = "none.collapsed"});
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->failures.size(), 1U);
}

TEST(Stacks, AProfileThatCannotBeReadIsAFailureWhileAnotherCan) {
  const auto result = stacks({.profiles = {"none.collapsed", profile()}});
  ASSERT_TRUE(result);
  ASSERT_EQ(result->failures.size(), 1U);
  EXPECT_EQ(result->failures[0].file, "none.collapsed");
  const auto none = stacks({.profiles = {"none.collapsed"}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().file, "none.collapsed");
}

TEST(Stacks, RanksAreOneForAllOrOneAProfile) {
  const StacksRequest two{.profiles = {profile(), profile()}};
  StacksRequest request = two;
  request.ranks = {3};
  EXPECT_TRUE(stacks(request));
  request.ranks = {3, 5};
  EXPECT_TRUE(stacks(request));
  request.ranks = {1, 2, 3};
  EXPECT_FALSE(stacks(request));
}

}  // namespace
}  // namespace stepscope
