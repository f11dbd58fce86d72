// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/line_pattern.h"

#include <gtest/gtest.h>

#include <string>

#include "stepscope/read/log/read_job_log.h"

namespace stepscope {
namespace {

std::optional<LineMatch> match(std::string_view pattern, std::string_view line) {
  const auto parsed = parse_line_pattern(pattern);
  EXPECT_TRUE(parsed) << parsed.error().message();
  return parsed ? match_line(*parsed, line) : std::nullopt;
}

TEST(LinePattern, ReadsTheNumbersAtItsPlaces) {
  const auto m = match("Iter {step}: * took {s}s loss {loss}",
                       "[rank0] Iter   12: fwd 3 ms, took 1.25s loss 3.5e-1 |");
  ASSERT_TRUE(m);
  EXPECT_EQ(m->step, 12);
  EXPECT_DOUBLE_EQ(m->wall_ns, 1.25e9);
  EXPECT_DOUBLE_EQ(*m->loss, 0.35);
}

TEST(LinePattern, BlanksMayDifferInNumber) {
  EXPECT_TRUE(match("step {step} in {ms} ms", "step    3   in 4ms"));
  EXPECT_FALSE(match("step {step} in {ms} ms", "st ep 3 in 4 ms"));
}

TEST(LinePattern, TriesAgainWhereItsFirstWordsRepeat) {
  const auto m = match("step {step} took {ms}", "step by step 7 took 15");
  ASSERT_TRUE(m);
  EXPECT_EQ(m->step, 7);
}

TEST(LinePattern, WithoutWordsInFrontBeginsWithTheLine) {
  EXPECT_TRUE(match("{step}/10: {ms} ms", "  3/10: 12 ms"));
  EXPECT_FALSE(match("{step}/10: {ms} ms", "at 3/10: 12 ms"));
}

TEST(LinePattern, RefusesTimesThatAreNone) {
  EXPECT_FALSE(match("t {ms}", "t 0"));
  EXPECT_FALSE(match("t {ms}", "t nan"));
  EXPECT_FALSE(match("step {step} t {ms}", "step 1.5 t 3"));
}

TEST(LinePattern, SaysWhatIsWrongWithIt) {
  for (const std::string_view pattern :
       {"loss {loss}", "{step}{ms}", "{stp} {ms}", "a {ms", "a *{ms}", ""})
    EXPECT_FALSE(parse_line_pattern(pattern)) << pattern;
}

TEST(LinePattern, GivesTheStepsOfALog) {
  StepReading reading;
  reading.pattern = "it {step} took {ms} ms";
  const auto log = parse_job_log("begin\nit 1 took 10 ms\nx\nit 2 took 12 ms\n", "log", reading);
  ASSERT_TRUE(log) << log.error().message();
  const LogSteps steps = steps_of(*log);
  ASSERT_EQ(steps.steps.size(), 2U);
  EXPECT_EQ(steps.steps[1].iteration, 2);
  EXPECT_DOUBLE_EQ(steps.steps[1].wall_ns, 12e6);
  reading.pattern = "other {ms}";
  const auto none = parse_job_log("it 1 took 10 ms\n", "log", reading);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().what, "has no line of the given pattern");
}

}  // namespace
}  // namespace stepscope
