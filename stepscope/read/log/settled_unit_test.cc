// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/settled_unit.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

// Lines that are `apart` from each other, each with a time.
TimesByInstants lines_apart(Ns apart, double steps, double time, int pairs = 4) {
  TimesByInstants times;
  for (int i = 0; i < pairs; ++i) times.add(i * apart, (i + 1) * apart, steps, time);
  return times;
}

constexpr Ns second{1'000'000'000};

TEST(SettledUnit, IsTheOneThatTheInstantsAllow) {
  const SettledUnit ms = settled_unit(lines_apart(9 * second, 20, 450), {}, TimeUnit::s);
  EXPECT_EQ(ms.unit, TimeUnit::ms);
  EXPECT_EQ(ms.fit, TimeFit::of_step);
  EXPECT_EQ(settled_unit(lines_apart(9 * second, 20, 0.45), {}, TimeUnit::ms).unit, TimeUnit::s);
  const SettledUnit none = settled_unit(lines_apart(9 * second, 1, 300), {}, TimeUnit::s);
  EXPECT_FALSE(none.unit);
  EXPECT_EQ(none.fit, TimeFit::too_long);
}

TEST(SettledUnit, IsTheKnownOneWhateverTheInstantsSay) {
  const SettledUnit given = settled_unit(lines_apart(9 * second, 20, 450), TimeUnit::s, {});
  EXPECT_EQ(given.unit, TimeUnit::s);
  EXPECT_EQ(given.fit, TimeFit::too_long);
}

TEST(SettledUnit, OfAnIntervalMayBeThatOfAStep) {
  const SettledUnit both = settled_unit(lines_apart(90 * second, 1000, 90), {}, TimeUnit::s);
  EXPECT_EQ(both.fit, TimeFit::of_interval);
  EXPECT_EQ(both.unit, TimeUnit::ms);
}

TEST(SettledUnit, NeedsThreeLinesAndMoreThanTheRoundingOfTheirInstants) {
  EXPECT_FALSE(settled_unit(lines_apart(9 * second, 1, 9, 1), {}, TimeUnit::ms).unit);
  EXPECT_FALSE(settled_unit(lines_apart(second, 1, 1), {}, TimeUnit::ms).unit);
  EXPECT_EQ(settled_unit(lines_apart(Ns{250'000'001}, 1, 0.25), {}, TimeUnit::ms).unit,
            TimeUnit::s);
}

TEST(SettledUnit, LinesWithinASecondDoNotMakeTheirTimesLonger) {
  TimesByInstants times;  // ten lines a second, whose instants are whole seconds
  for (int i = 1; i < 200; ++i) times.add((i - 1) / 10 * second, i / 10 * second, 1, 0.1);
  EXPECT_EQ(settled_unit(times, {}, TimeUnit::ms).unit, TimeUnit::s);
}

}  // namespace
}  // namespace stepscope
