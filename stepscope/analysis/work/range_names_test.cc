// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/work/range_names.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/work/work_test_builder.h"

namespace stepscope {
namespace {

TEST(RangeNames, SizesAreNoNumbersThatCount) {
  EXPECT_EQ(name_without_numbers("AllReduce_18_1.0MB"), "AllReduce_#_1.0MB");
  EXPECT_EQ(name_without_numbers("step_3"), "step_#");
  EXPECT_EQ(name_without_numbers("iteration [12] of 400"), "iteration [#] of #");
  EXPECT_EQ(name_without_numbers("bucket 25MB"), "bucket 25MB");
  EXPECT_EQ(name_without_numbers("block0.mlp"), "block#.mlp");
  EXPECT_EQ(name_without_numbers("v1.5"), "v1.5");
  EXPECT_EQ(name_without_numbers("3"), "3") << "nothing would be left of the name";
  EXPECT_EQ(name_without_numbers("forward"), "forward");
  EXPECT_EQ(name_without_numbers(""), "");
}

TEST(RangeNames, ANumberThatCountsCallsJoinsAndOneThatComesAgainDoesNot) {
  WorkBuilder b;
  for (int s = 0; s < 2; ++s) {
    const std::int64_t at = s * 100;
    b.step("step_" + std::to_string(s + 7), at, at + 90);
    b.step("layer0", at + 10, at + 20);
    b.step("layer1", at + 20, at + 30);
    b.step("AllReduce_" + std::to_string(2 * s) + "_4.2MB", at + 30, at + 40);
    b.step("AllReduce_" + std::to_string(2 * s + 1) + "_0.1MB", at + 40, at + 50);
    b.step(s == 0 ? "save 1" : "load 1", at + 50, at + 60);
  }
  const Trace t = b.sealed();
  const RankIndex rank = index_rank(t);
  const std::vector<Step> steps = {step(0, 100, "a"), step(100, 200, "b")};
  const RangeNames names(t, rank, steps);
  const auto of = [&](std::string_view name) {
    return std::string(names.text(names.number(t.slices.name[index(find_slice(t, name))])));
  };
  EXPECT_EQ(of("step_7"), "step_#");
  EXPECT_EQ(of("step_8"), "step_#");
  EXPECT_EQ(of("AllReduce_0_4.2MB"), "AllReduce_#_4.2MB");
  EXPECT_EQ(of("AllReduce_3_0.1MB"), "AllReduce_#_0.1MB");
  EXPECT_EQ(of("layer1"), "layer1");
  EXPECT_EQ(of("save 1"), "save 1") << "one call is no family";
  const RangeNames alone(t, rank, std::span(steps).first(1));
  EXPECT_EQ(alone.text(alone.number(t.slices.name[index(find_slice(t, "step_7"))])), "step_7")
      << "one step does not tell what comes again";
}

}  // namespace
}  // namespace stepscope
