// SPDX-License-Identifier: Apache-2.0
// What tests of the dialects of logs have in common.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/read/log/log_dialect.h"
#include "stepscope/read/log/read_job_log.h"

namespace stepscope::test {

inline JobLog parsed_dialect(std::string_view text) {
  auto log = parse_job_log(text, "log");
  EXPECT_TRUE(log) << log.error().message();
  return log ? std::move(*log) : JobLog{};
}

struct ExpectedSteps {
  std::string_view tool;
  std::vector<std::int64_t> iterations;
  std::vector<double> seconds;
};

inline JobLog expect_steps(std::string_view text, const ExpectedSteps& expected) {
  JobLog log = parsed_dialect(text);
  const LogSteps steps = steps_of(log);
  EXPECT_EQ(steps.tool->name, expected.tool) << text;
  EXPECT_EQ(steps.steps.size(), expected.seconds.size()) << text;
  if (steps.steps.size() != expected.seconds.size()) return log;
  for (std::size_t i = 0; i < steps.steps.size(); ++i) {
    EXPECT_EQ(steps.steps[i].iteration, expected.iterations[i]) << text;
    EXPECT_NEAR(steps.steps[i].wall_ns / 1e9, expected.seconds[i], 1e-9 * expected.seconds[i])
        << text;
  }
  return log;
}

inline const LogTimer* timer(const JobLog& log, std::string_view name) {
  const auto found = std::ranges::find(log.timers, name, &LogTimer::name);
  return found == log.timers.end() ? nullptr : &*found;
}

}  // namespace stepscope::test
