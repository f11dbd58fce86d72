// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/pattern_offer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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

// Lines whose instants are `seconds` apart.
std::string stamped(int seconds, int steps, const std::string& between,
                    const std::vector<std::string>& times, const std::string& after = "") {
  std::string text;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const int at = seconds * static_cast<int>(i);
    const auto two = [](int n) { return (n < 10 ? "0" : "") + std::to_string(n); };
    text += "2026-01-05 10:" + two(at / 60) + ":" + two(at % 60) +
            " [INFO] batch: " + std::to_string(100 + steps * static_cast<int>(i)) + "/5000" +
            between + times[i] + after + "\n";
  }
  return text;
}

TEST(PatternOffer, TakesNoRateForATime) {
  EXPECT_FALSE(offer_pattern(lines("step: ", "  train loss: 2.6  tokens/gpu/sec: ", "  MFU: 7%")));
  EXPECT_FALSE(offer_pattern(lines("step: ", " samples_per_sec: ", "")));
  EXPECT_FALSE(offer_pattern(lines("step: ", " throughput (sec): ", "")));
  const auto offer = offer_pattern(lines("step: ", ", ips: 5.5 samples/s time: ", ""));
  ASSERT_TRUE(offer);
  EXPECT_DOUBLE_EQ(offer->read.wall_ns, 399.5e9);
}

bool offers_stamps(const std::string& text) {
  const auto offer = offer_pattern(text);
  return offer && offer->by == TimedBy::stamps;
}

TEST(PatternOffer, TakesNoTimeOfManySteps) {
  const std::vector<std::string> times = {"90.5", "89.5", "90.25", "89.75", "90.1"};
  EXPECT_TRUE(offers_stamps(stamped(90, 300, " Time cost=", times)));
  EXPECT_TRUE(offers_stamps(stamped(90, 1000, " Time cost=", times))) << "or ms of one step";
  EXPECT_TRUE(offers_stamps(stamped(90, 300, " time ", times, " s")));
  EXPECT_TRUE(offers_stamps(stamped(9, 1, " time ", times, " s"))) << "longer than the lines";
}

TEST(PatternOffer, SettlesTheUnitByTheInstantsOfTheLines) {
  const std::vector<std::string> times = {"450.5", "449.5", "450.25", "449.75", "450.1"};
  const auto offer = offer_pattern(stamped(9, 20, ", batch_cost: ", times));
  ASSERT_TRUE(offer);
  EXPECT_TRUE(offer->unit_known);
  EXPECT_DOUBLE_EQ(offer->read.wall_ns, 450.1e6);
  const auto seconds =
      offer_pattern(stamped(9, 20, ", batch_cost: ", {"0.45", "0.44", "0.46", "0.45", "0.44"},
                            ", reader_cost: 0.01, ips: 5.7 samples/sec | ETA 00:04:16"));
  ASSERT_TRUE(seconds);
  EXPECT_EQ(seconds->pattern, "[INFO] batch: {step}* batch_cost: {s}");
  EXPECT_TRUE(seconds->unit_known);
  EXPECT_DOUBLE_EQ(seconds->read.wall_ns, 0.44e9);
}

TEST(PatternOffer, TakesAStepForATimeWhereTheInstantsSaySo) {
  const std::vector<std::string> times = {"9.05", "8.95", "9.02", "8.97", "9.01"};
  const auto offer =
      offer_pattern(stamped(9, 1, " Data 0.01 (0.5) Batch ", times, " Remain 46:51:04"));
  ASSERT_TRUE(offer);
  EXPECT_DOUBLE_EQ(offer->read.wall_ns, 9.01e9);
  EXPECT_TRUE(offers_stamps(stamped(9, 20, " Data 0.01 Batch ", times)));
  EXPECT_FALSE(offer_pattern(lines("iter ", " batch ", "")));
}

TEST(PatternOffer, PrefersTheGlobalCount) {
  std::string text;
  for (int i = 0; i < 12; ++i)
    text += "inner iter: " + std::to_string(i % 4) + "/4 | global iter: " + std::to_string(40 + i) +
            "/500 | loss: 2.5 | time: 1.7" + std::to_string(i * 7 % 10) + "\n";
  const auto offer = offer_pattern(text);
  ASSERT_TRUE(offer);
  EXPECT_EQ(offer->read.step, 51);
}

TEST(PatternOffer, SaysThatAStepHasSeveralIterations) {
  std::string text;
  for (int i = 70; i < 90; ++i)
    text += "iter " + std::to_string(i) + " step " + std::to_string(i / 2) +
            ": loss 10.5, iter time: " + std::to_string(198 + i % 3) + ".5ms" +
            (i % 2 == 1 ? " (optimizer.step)\n" : "\n");
  const auto offer = offer_pattern(text);
  ASSERT_TRUE(offer);
  EXPECT_GE(offer->read.step, 88);
  EXPECT_NE(in_words(*offer).find("reads as iteration 8"), std::string::npos) << in_words(*offer);
  EXPECT_NE(in_words(*offer).find("a step has several iterations"), std::string::npos);
}

TEST(PatternOffer, SeesPaddedNumbersRestartsAndLinesOfSeveralProcesses) {
  std::string text;
  for (int epoch = 0; epoch < 2; ++epoch)
    for (int i = 990; i <= 1040; i += 5) {
      const std::string line = "Epoch: [" + std::to_string(epoch) + "]  [" + (i < 1000 ? " " : "") +
                               std::to_string(i) + "/5005]  eta: 16:04:3" + std::to_string(i % 10) +
                               "  loss: " + (i % 2 == 0 ? "-" : "") + "0.5 (6.98)  time: 1.5" +
                               std::to_string(i * 7 % 10) + "  data: 0.7029\n";
      text += line + line;
    }
  const auto offer = offer_pattern(text);
  ASSERT_TRUE(offer);
  EXPECT_EQ(offer->read.step, 1040);
  StepReading reading;
  reading.pattern = offer->pattern;
  const auto log = parse_job_log(text, "log", reading);
  ASSERT_TRUE(log) << offer->pattern;
  EXPECT_EQ(log->records.size(), 44U) << offer->pattern;
}

TEST(PatternOffer, TakesTheNumberInFrontOfAReport) {
  std::string text;
  for (int i = 0; i < 5; ++i)
    text += std::to_string(10 * i) + " | loss " + std::to_string(9 - i) + ".625 | lr 3.5e-0" +
            std::to_string(4 + i % 2) + " | 1360" + std::to_string(9 - i) + ".5ms\n";
  const auto offer = offer_pattern(text);
  ASSERT_TRUE(offer);
  EXPECT_EQ(offer->read.step, 40);
  EXPECT_DOUBLE_EQ(offer->read.wall_ns, 13605.5e6);
  EXPECT_FALSE(offer_pattern(lines("", " | rows | ", " ms"))) << "no report on a loss";
}

TEST(PatternOffer, LongLinesWithManyNumbersRepeat) {
  std::string text;
  for (int i = 0; i < 5; ++i) {
    text += "iter: " + std::to_string(20 * i);
    for (int n = 0; n < 40; ++n)
      text += "  loss_" + std::string(1, static_cast<char>('a' + n % 26)) + ": 0." +
              std::to_string(100 + 7 * n + i * n % 5);
    text += "  time: 0.5" + std::to_string(i * 3 % 5) + "\n";
  }
  const auto offer = offer_pattern(text);
  ASSERT_TRUE(offer);
  EXPECT_EQ(offer->read.step, 80);
}

TEST(PatternOffer, KeepsTheWordsThatDistinguishTheLine) {
  std::string text;
  for (int i = 0; i < 6; ++i)
    text += "mmengine - INFO - Epoch(train)  [1][" + std::to_string(20 * i + 20) +
            "/333]  lr: 1.0e-03  time: 0.63" + std::to_string(i * 3 % 5) + "  loss: 4.5\n";
  for (int i = 0; i < 3; ++i)
    text += "mmengine - INFO - Epoch(val)  [1][" + std::to_string(20 * i + 20) +
            "/167]  time: 0.11" + std::to_string(i * 3 % 5) + "\n";
  const auto offer = offer_pattern(text);
  ASSERT_TRUE(offer);
  StepReading reading;
  reading.pattern = offer->pattern;
  const auto log = parse_job_log(text, "log", reading);
  ASSERT_TRUE(log) << offer->pattern;
  EXPECT_EQ(log->records.size(), 6U) << offer->pattern;
  EXPECT_NE(in_words(*offer).find("or is of all 20 steps since the line before"), std::string::npos)
      << in_words(*offer);
}

TEST(PatternOffer, SaysThatAMeanMayBeOfAllSteps) {
  const auto offer = offer_pattern(lines("step:", "\tstep_avg:", "ms"));
  ASSERT_TRUE(offer);
  EXPECT_NE(in_words(*offer).find("may be the mean of all steps so far"), std::string::npos);
  EXPECT_EQ(in_words(*offer).find('\t'), std::string::npos);
}

TEST(PatternOffer, TwoLinesGiveATimeThatNoneHas) {
  const auto read = [](const std::string& text) {
    const auto offer = offer_pattern(text);
    EXPECT_TRUE(offer);
    StepReading reading;
    reading.pattern = offer ? offer->pattern : "";
    const auto log = parse_job_log(text, "log", reading);
    EXPECT_TRUE(log) << reading.pattern;
    return log ? steps_of(*log) : LogSteps{};
  };
  std::string stamps;
  std::string elapsed;
  for (int i = 1; i < 8; ++i) {
    stamps += "INFO:root:09:29:" + std::to_string(10 + 5 * i) + " [Epoch 1 Batch " +
              std::to_string(10 * i) + "/274] loss=0.5970, metrics:mcc:0.0000\n";
    elapsed += "Step " + std::to_string(25 * i) + ", total used time " + std::to_string(7 * i) +
               ".178 (s), loss 2.5\n";
  }
  const LogSteps of_stamps = read(stamps);
  ASSERT_EQ(of_stamps.steps.size(), 1U) << "whole seconds need 20 s";
  EXPECT_EQ(of_stamps.steps[0].steps, 40);
  EXPECT_DOUBLE_EQ(of_stamps.steps[0].wall_ns, 0.5e9);
  const LogSteps of_elapsed = read(elapsed);
  ASSERT_EQ(of_elapsed.steps.size(), 6U);
  EXPECT_NEAR(of_elapsed.steps[0].wall_ns, 0.28e9, 1);
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
