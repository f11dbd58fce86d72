// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/sequence_steps.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

using Places = std::vector<std::optional<std::int64_t>>;

// Two calls in each of the steps, 100 apart, on a clock that is `ahead`.
std::vector<StepItem> calls_of(std::initializer_list<std::int64_t> steps, std::int64_t ahead) {
  std::vector<StepItem> items;
  for (const std::int64_t step : steps)
    for (std::int64_t k = 0; k < 2; ++k) items.push_back({step, Ns{1000 * step + 100 * k + ahead}});
  return items;
}

TEST(SequenceSteps, TheKthCallOfAStepIsTheKthCallOfTheOtherRank) {
  const std::vector<std::vector<StepItem>> sequences = {calls_of({3, 4, 5}, 0),
                                                        calls_of({4, 5, 6}, 90)};
  const auto places = places_by_step(sequences, Ns{1000});
  ASSERT_TRUE(places);
  EXPECT_EQ((*places)[0], (Places{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ((*places)[1], (Places{2, 3, 4, 5, 6, 7}));
}

TEST(SequenceSteps, CallsOutsideTheStepsHaveNoPlace) {
  std::vector<StepItem> cut = calls_of({3, 4}, 0);
  cut.insert(cut.begin(), {std::nullopt, Ns{2900}});
  const auto places = places_by_step(std::vector{cut, calls_of({3, 4}, 0)}, Ns{1000});
  ASSERT_TRUE(places);
  EXPECT_EQ((*places)[0], (Places{std::nullopt, 0, 1, 2, 3}));
}

// A rank lacks the first call of step 3: which of the two it has is not known.
TEST(SequenceSteps, AStepWithAnotherNumberOfCallsIsLeftOut) {
  std::vector<StepItem> cut = calls_of({3, 4, 5}, 0);
  cut.erase(cut.begin());
  const auto places =
      places_by_step(std::vector{cut, calls_of({3, 4, 5}, 0), calls_of({3, 4, 5}, 0)}, Ns{1000});
  ASSERT_TRUE(places);
  EXPECT_EQ((*places)[0], (Places{std::nullopt, 2, 3, 4, 5}));
  EXPECT_EQ((*places)[1], (Places{0, 1, 2, 3, 4, 5}));
}

// Equal numbers that lie a step apart in time are different steps.
TEST(SequenceSteps, NumbersThatDisagreeWithTheClocksAreRefused) {
  EXPECT_FALSE(places_by_step(std::vector{calls_of({3, 4}, 0), calls_of({3, 4}, 1000)}, Ns{1000}));
  EXPECT_TRUE(places_by_step(std::vector{calls_of({3, 4}, 0), calls_of({3, 4}, 240)}, Ns{1000}));
}

TEST(SequenceSteps, CallsWithoutStepsAreNotPlaced) {
  const std::vector<StepItem> none(4);
  EXPECT_FALSE(places_by_step(std::vector{none, none}, Ns{1000}));
}

}  // namespace
}  // namespace stepscope
