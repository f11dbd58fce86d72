// SPDX-License-Identifier: Apache-2.0
// Lines of programs that name their step times (plain_log.cc).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stepscope/read/log/log_dialect.h"
#include "stepscope/read/log/read_job_log.h"

namespace stepscope {
namespace {

LogSteps named_steps(std::string_view text, const StepReading& reading = {}) {
  const auto log = parse_job_log(text, "log", reading);
  EXPECT_TRUE(log) << log.error().message();
  return log ? steps_of(*log) : LogSteps{};
}

std::vector<std::int64_t> numbers_of(const LogSteps& steps) {
  std::vector<std::int64_t> numbers;
  for (const LogStep& step : steps.steps) numbers.push_back(step.iteration);
  return numbers;
}

TEST(NamedTimes, OfTwoEpochsAreStepsOfOneLaunch) {
  const std::string before = "2026-01-05 10:00:0";
  const LogSteps steps = named_steps(
      before + "1.000 | my.trainer:after_iter:238 - epoch: 4/9, iter: 90/100, iter_time: 0.5s\n" +
      before + "6.000 | my.trainer:after_iter:238 - epoch: 4/9, iter: 100/100, iter_time: 0.5s\n" +
      before + "9.000 | my.trainer:after_iter:238 - epoch: 5/9, iter: 10/100, iter_time: 0.6s\n");
  EXPECT_EQ(numbers_of(steps), (std::vector<std::int64_t>{90, 100, 10}));
  EXPECT_EQ(steps.launches.size(), 1U);
  EXPECT_TRUE(steps.by_epoch);
  EXPECT_FALSE(steps.unit_assumed);
}

TEST(NamedTimes, WithoutAUnitSayThatItWasAssumed) {
  EXPECT_TRUE(named_steps("step 1: step_time=12.5\n").unit_assumed);
  EXPECT_TRUE(named_steps("step 1: step_time=12.5\n", TimeUnit::s).unit_assumed);
  EXPECT_FALSE(named_steps("step 1: step_time_ms=12.5\n").unit_assumed);
  EXPECT_FALSE(named_steps("step 1: step_time=12.5 s\n").unit_assumed);
}

TEST(NamedTimes, AreNotShorterThanTheirParts) {
  EXPECT_FALSE(parse_job_log("step 1: iter_time=0.001, forward_time=0.005, x=3\n", "log"));
  EXPECT_FALSE(parse_job_log(R"({"step": 1, "iter_time": 0.001, "backward": 0.2})", "log"));
  EXPECT_EQ(named_steps("step 1: iter_time=0.021, forward_time=0.005, data_time=3\n").steps.size(),
            1U);
  EXPECT_EQ(named_steps("step 1: iter_time: 9 ms, forward_time=0.005\n").steps.size(), 1U);
}

TEST(NamedTimes, HaveTheUnitThatTheirTimeStampsAllow) {
  std::string text;
  for (int i = 0; i < 6; ++i)
    text += "2026-01-05 10:00:" + std::to_string(10 + 5 * i) + ",000 step " +
            std::to_string(10 * i) + ": step_time=0.49\n";
  const LogSteps steps = named_steps(text);
  ASSERT_EQ(steps.steps.size(), 6U);
  EXPECT_DOUBLE_EQ(steps.steps[0].wall_ns, 0.49e9);
  EXPECT_FALSE(steps.unit_assumed);
  EXPECT_NE(steps.how.find("time stamps"), std::string::npos);
  // The unit that is given counts, also where the time stamps allow another.
  EXPECT_DOUBLE_EQ(named_steps(text, TimeUnit::ms).steps[0].wall_ns, 0.49e6);
  EXPECT_EQ(named_steps(text, TimeUnit::ms).how.find("time stamps"), std::string::npos);
  // Two lines are too few, and a unit in the line counts.
  EXPECT_DOUBLE_EQ(named_steps(text.substr(0, 2 * text.size() / 6)).steps[0].wall_ns, 0.49e6);
  std::string in_us = text;
  for (std::size_t at = in_us.find("0.49\n"); at != std::string::npos;
       at = in_us.find("0.49\n", at))
    in_us.replace(at, 5, "0.49 us\n");
  EXPECT_DOUBLE_EQ(named_steps(in_us).steps[0].wall_ns, 490);
}

}  // namespace
}  // namespace stepscope
