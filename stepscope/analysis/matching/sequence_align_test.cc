// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/sequence_align.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace stepscope {
namespace {

using Kind = CollectiveKind;
using Items = std::vector<AlignItem>;

AlignItem item(std::int64_t start, std::int64_t end, std::int64_t elements = 10,
               Kind kind = Kind::all_reduce) {
  AlignItem it;
  it.kind = kind;
  it.dtype = "Float";
  it.elements = elements;
  it.start = Ns{start};
  it.end = Ns{end};
  return it;
}

// Calls every 100 ns that end together. `late` is this rank's delay of arrival in each call.
Items periodic(int count, std::int64_t late) {
  Items items;
  for (int i = 0; i < count; ++i) items.push_back(item(100 * i + late, 100 * i + 90));
  return items;
}

TEST(SequenceAlign, NamesWhatDiffers) {
  const AlignItem a = item(0, 1);
  AlignItem b = a;
  EXPECT_EQ(disagreement(a, b), "");
  b.elements = 11;
  EXPECT_EQ(disagreement(a, b), "count");
  b.dtype = "Half";
  EXPECT_EQ(disagreement(a, b), "type");
  b.kind = Kind::all_gather;
  EXPECT_EQ(disagreement(a, b), "kind");
}

TEST(SequenceAlign, UnknownFactsContradictNothing) {
  AlignItem bare = item(0, 1, -1, Kind::unknown);
  bare.dtype = "";
  EXPECT_EQ(disagreement(item(0, 1), bare), "");
  EXPECT_EQ(disagreement(item(0, 1, 10, Kind::all_to_all), item(0, 1, 12, Kind::send_recv)), "");
}

TEST(SequenceAlign, FindsTheShiftOfARankThatStartedLate) {
  const Items a = periodic(50, 5);
  Items b = periodic(50, 70);
  b.erase(b.begin(), b.begin() + 3);
  const auto found = align(a, b);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->shift, 3);
  EXPECT_EQ(found->pairs, 47U);
  EXPECT_EQ(found->together, 47U);
}

TEST(SequenceAlign, FindsTheShiftWhenBothEndsDifferAndEveryCallLooksAlike) {
  Items a = periodic(60, 5);
  Items b = periodic(60, 70);
  a.resize(55);                       // a ends early
  b.erase(b.begin(), b.begin() + 5);  // b begins late: equal counts, shifted
  const auto found = align(a, b);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->shift, 5);
  EXPECT_EQ(found->together, 50U);
}

TEST(SequenceAlign, NothingAgreesMeansNoAlignment) {
  EXPECT_FALSE(align(Items{item(0, 1)}, Items{item(0, 1, 10, Kind::all_gather)}));
  EXPECT_FALSE(align(Items{}, Items{item(0, 1)}));
}

TEST(SequenceAlign, PlacesCallsAroundALostRecord) {
  const Items a = periodic(40, 5);
  Items b = periodic(40, 70);
  b.erase(b.begin() + 20);
  const auto places = place_beside(a, b);
  ASSERT_EQ(places.size(), 39U);
  for (std::size_t i = 0; i < places.size(); ++i) {
    ASSERT_TRUE(places[i]);
    EXPECT_EQ(*places[i], static_cast<std::int64_t>(i < 20 ? i : i + 1));
  }
}

TEST(SequenceAlign, PlacesTwoWindowsOfWhichOneIsCut) {
  Items a = periodic(100, 5);
  Items b = periodic(100, 70);
  a.erase(a.begin() + 40, a.begin() + 60);  // both ranks paused, at different calls
  b.erase(b.begin() + 45, b.begin() + 58);
  const auto places = place_beside(a, b);
  EXPECT_EQ(places.front(), 0);
  EXPECT_EQ(places[39], 39);
  EXPECT_EQ(places.back(), 79);
  EXPECT_EQ(std::ranges::count(places, std::optional<std::int64_t>()), 7);
}

TEST(SequenceAlign, ACallThatContradictsIsPlacedSoThatItIsSeen) {
  const Items a = periodic(20, 5);
  Items b = periodic(20, 70);
  b[7].kind = Kind::all_gather;
  EXPECT_EQ(place_beside(a, b)[7], 7);
}

TEST(SequenceAlign, RandomCutsOfOneRunAreAlwaysFound) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    Items a;
    Items b;
    std::int64_t t = 0;
    for (int i = 0; i < 80; ++i) {
      const auto size = static_cast<std::int64_t>(1 + random() % 3);
      const std::int64_t end = t + 200;
      a.push_back(item(t + static_cast<std::int64_t>(random() % 150), end, size));
      b.push_back(item(t + static_cast<std::int64_t>(random() % 150), end, size));
      t = end + static_cast<std::int64_t>(random() % 50);
    }
    const auto cut_a = static_cast<std::int64_t>(random() % 20);
    const auto cut_b = static_cast<std::int64_t>(random() % 20);
    a.erase(a.begin(), a.begin() + cut_a);
    b.erase(b.begin(), b.begin() + cut_b);
    a.resize(a.size() - random() % 10);
    b.resize(b.size() - random() % 10);
    const auto found = align(a, b);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->shift, cut_b - cut_a);
  }
}

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
