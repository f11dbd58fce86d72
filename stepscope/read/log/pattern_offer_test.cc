// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/pattern_offer.h"

#include <gtest/gtest.h>

#include <string>

#include "stepscope/read/log/read_job_log.h"

namespace stepscope {
namespace {

// Lines of a kind, with the step and a number that changes.
std::string lines(const std::string& before, const std::string& between, const std::string& after) {
  std::string text = "starting on 8 devices\n";
  const char* const times[] = {"412.5", "398.25", "405.75", "401.5", "399.5"};
  for (int i = 0; i < 5; ++i)
    text += before + std::to_string(100 + 10 * i) + between + times[i] + after + "\n";
  return text;
}

TEST(PatternOffer, ReadsStepAndTimeOfUnknownLines) {
  const auto offer = offer_pattern(lines("2026-01-02 10:00:00 Train step ", " of 500, ", "ms, ok"));
  ASSERT_TRUE(offer);
  EXPECT_EQ(offer->read.step, 140);
  EXPECT_DOUBLE_EQ(offer->read.wall_ns, 399.5e6);
  StepReading reading;
  reading.pattern = offer->pattern;
  const auto log = parse_job_log(lines("2026-01-02 10:00:00 Train step ", " of 500, ", "ms, ok"),
                                 "log", reading);
  ASSERT_TRUE(log) << offer->pattern;
  EXPECT_EQ(log->records.size(), 5U);
}

TEST(PatternOffer, TakesTheUnitFromTheName) {
  const auto offer = offer_pattern(lines("iter=", " step_duration_ms=", " lr=3"));
  ASSERT_TRUE(offer);
  EXPECT_TRUE(offer->unit_known);
  EXPECT_DOUBLE_EQ(offer->read.wall_ns, 399.5e6);
}

TEST(PatternOffer, SaysWhereTheUnitIsAssumed) {
  const auto offer = offer_pattern(lines("iter ", " time ", ""));
  ASSERT_TRUE(offer);
  EXPECT_FALSE(offer->unit_known);
  EXPECT_NE(in_words(*offer).find("if its time is in seconds"), std::string::npos);
}

TEST(PatternOffer, PrefersTheStepToItsParts) {
  const auto offer =
      offer_pattern(lines("step ", " data 12 ms, forward 30 ms, total step time ", " ms"));
  ASSERT_FALSE(offer && offer->pattern.find("data {ms}") != std::string::npos);
}

TEST(PatternOffer, OffersNothingWithoutAStepOrATime) {
  EXPECT_FALSE(offer_pattern(lines("request ", " took ", " ms")));
  EXPECT_FALSE(offer_pattern(lines("step ", " loss ", "")));
  EXPECT_FALSE(offer_pattern(lines("step ", " at ", " tok/s")));
  EXPECT_FALSE(offer_pattern(lines("step ", " eta ", " s")));
  std::string clocks;
  for (int i = 10; i < 20; ++i)
    clocks += "batch 12:30:" + std::to_string(i) + " time 3:" + std::to_string(50 - i) + "\n";
  EXPECT_FALSE(offer_pattern(clocks));
}

TEST(PatternOffer, IsInTheErrorOfALogThatNobodyKnows) {
  const auto log = parse_job_log(lines("iteration ", " took ", " ms"), "log");
  ASSERT_FALSE(log);
  EXPECT_NE(log.error().message().find("--log-pattern 'iteration {step} took {ms} ms'"),
            std::string::npos)
      << log.error().message();
}

}  // namespace
}  // namespace stepscope
