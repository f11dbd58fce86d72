// SPDX-License-Identifier: Apache-2.0
// Lines that are a JSON object each (json_lines_log.cc).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stepscope/read/log/log_dialect.h"
#include "stepscope/read/log/read_job_log.h"

namespace stepscope {
namespace {

struct JsonSteps {
  std::vector<std::int64_t> numbers{};
  std::vector<double> seconds{};
  std::vector<std::string> causes{};
  bool unit_assumed = false;
};

JsonSteps steps_of_rows(std::string_view text, TimeUnit unit = TimeUnit::ms) {
  const auto log = parse_job_log(text, "log.json", unit);
  if (!log) return {};
  const LogSteps steps = steps_of(*log);
  JsonSteps out{.unit_assumed = steps.unit_assumed};
  for (const LogStep& step : steps.steps) {
    out.numbers.push_back(step.iteration);
    out.seconds.push_back(step.wall_ns / 1e9);
    out.causes.push_back(step.cause);
  }
  return out;
}

// Rows of a trainer with the time since its begin.
std::string elapsed_row(int step, const std::string& elapsed, const std::string& evaluation) {
  return "{\"current_steps\": " + std::to_string(step) +
         ", \"total_steps\": 90, \"loss\": 2.5, \"eval_loss\": " + evaluation +
         ", \"epoch\": 0.25, \"elapsed_time\": \"" + elapsed +
         "\", \"remaining_time\": \"0:09:00\"}\n";
}

TEST(JsonLines, TellTheTimeSinceTheBegin) {
  const JsonSteps steps =
      steps_of_rows(elapsed_row(10, "0:58:30", "null") + elapsed_row(20, "0:59:20", "null") +
                    elapsed_row(20, "1:00:20", "1.5") + elapsed_row(30, "1:01:20", "null") +
                    elapsed_row(35, "1 day, 0:00:00", "null"));
  EXPECT_EQ(steps.numbers, (std::vector<std::int64_t>{20, 30, 35}));
  EXPECT_EQ(steps.seconds, (std::vector<double>{5, 6, (86400.0 - 3680.0) / 5}));
  EXPECT_FALSE(steps.unit_assumed);
}

TEST(JsonLines, WholeSecondsAreTakenOverManySteps) {
  std::string rows;
  for (int step = 0; step <= 80; ++step)
    rows += elapsed_row(step, "0:00:" + std::to_string(10 + step / 2), "null");
  const JsonSteps steps = steps_of_rows(rows);
  EXPECT_EQ(steps.numbers, (std::vector<std::int64_t>{40, 80}));
  EXPECT_EQ(steps.seconds, (std::vector<double>{0.5, 0.5}));
}

TEST(JsonLines, AfterARestartTheTimeBeginsAgain) {
  const JsonSteps steps =
      steps_of_rows(elapsed_row(10, "0:10:00", "null") + elapsed_row(20, "0:11:00", "null") +
                    elapsed_row(21, "0:00:30", "null") + elapsed_row(31, "0:01:40", "null"));
  EXPECT_EQ(steps.numbers, (std::vector<std::int64_t>{20, 31}));
  EXPECT_EQ(steps.seconds, (std::vector<double>{6, 7}));
}

TEST(JsonLines, CountedTextsAndUnitsAreRead) {
  const JsonSteps steps = steps_of_rows(
      R"({"loss": 1.5, "global_step/max_steps": "5/400", "elapsed_time": "1m 29s"})"
      "\n"
      R"({"loss": 1.4, "global_step/max_steps": "10/400", "elapsed_time": "1h 1m 29s"})"
      "\n");
  EXPECT_EQ(steps.numbers, std::vector<std::int64_t>{10});
  EXPECT_EQ(steps.seconds, std::vector<double>{720});
}

TEST(JsonLines, WithATimeOfTheDataAreInSeconds) {
  const std::string text =
      R"({"mode": "train", "epoch": 1, "iter": 50, "memory": 1024, "data_time": 1.5, "loss": 2.5)"
      R"(, "time": 2.0})"
      "\n"
      R"({"mode": "train", "epoch": 1, "iter": 100, "memory": 1024, "data_time": 0.01, "loss": 2.4)"
      R"(, "time": 0.5} )"
      "\n"
      R"({"mode": "val", "epoch": 1, "iter": 20, "bbox_mAP": 0.1})"
      "\n"
      R"({"mode": "train", "epoch": 2, "iter": 50, "memory": 1024, "data_time": 0.5, "loss": 2.3)"
      R"(, "time": 1.0})"
      "\n";
  const JsonSteps steps = steps_of_rows(text);
  EXPECT_EQ(steps.numbers, (std::vector<std::int64_t>{50, 100, 50}));
  EXPECT_EQ(steps.seconds, (std::vector<double>{2, 0.5, 1}));
  EXPECT_EQ(steps.causes, (std::vector<std::string>{"", "", "eval"}));
  EXPECT_FALSE(steps.unit_assumed);
  const auto log = parse_job_log(text, "log.json");
  ASSERT_TRUE(log);
  ASSERT_EQ(log->timers.size(), 1U);
  EXPECT_EQ(log->timers[0].ms, (std::vector<double>{1500, 10, 500}));
  EXPECT_EQ(*log->records[0].memory_bytes, 1024.0 * 1024 * 1024);
}

std::string timed_row(int step, const std::string& time) {
  return "{\"step\": " + std::to_string(step) + ", \"time\": " + time + "}\n";
}

TEST(JsonLines, ABareTimeHasTheAssumedUnitAndMayBeAClock) {
  const std::string times = timed_row(1, "12.5") + timed_row(2, "12.0") + timed_row(3, "13.0");
  const JsonSteps steps = steps_of_rows(times);
  EXPECT_EQ(steps.seconds, (std::vector<double>{0.0125, 0.012, 0.013}));
  EXPECT_TRUE(steps.unit_assumed);
  EXPECT_EQ(steps_of_rows(times, TimeUnit::s).seconds, (std::vector<double>{12.5, 12, 13}));
  EXPECT_TRUE(steps_of_rows(timed_row(1, "12.5") + timed_row(2, "12.0")).seconds.empty());
  EXPECT_TRUE(steps_of_rows(timed_row(1, "1e9") + timed_row(2, "1.1e9") + timed_row(3, "1.2e9"))
                  .seconds.empty());
  EXPECT_TRUE(steps_of_rows(timed_row(1, "10") + timed_row(2, "20") + timed_row(3, "30") +
                            timed_row(4, "40") + timed_row(5, "50") + timed_row(6, "3"))
                  .seconds.empty())
      << "a clock of two runs";
  EXPECT_TRUE(steps_of_rows("{\"name\": \"a\", \"time\": 3}\n").seconds.empty());
}

}  // namespace
}  // namespace stepscope
