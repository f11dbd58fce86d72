// SPDX-License-Identifier: Apache-2.0
// The flags of the verbs that measure step times: how commands are launched, how lists are read,
// which differences count.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <optional>
#include <string>

#include "stepscope/verbs/inputs/launches.h"

namespace stepscope {

struct LaunchFlags {
  std::size_t launches = 1;
  double timeout = 0;  // seconds; 0: none
  std::string keep{};
};

struct StatisticsFlags {
  std::optional<std::size_t> warm_up{};
  double alpha = 0.05;
  double floor = 0.01;
};

// --launches, --timeout and --keep; `what` describes the first.
void declare_launches(CLI::App& app, LaunchFlags& flags, const char* what);
void declare_unit(CLI::App& app, std::string& unit);
void declare_log_pattern(CLI::App& app, std::string& pattern);
// --max-regression, which `what` describes, and --inconclusive.
void declare_regression(CLI::App& app, std::optional<double>& max_regression,
                        std::string& inconclusive, const char* what);
// --warm-up, --alpha and --floor.
void declare_statistics(CLI::App& app, StatisticsFlags& flags);

[[nodiscard]] LaunchLimits limits_of(const LaunchFlags& flags);
[[nodiscard]] StepReading reading_of(const std::string& unit, const std::string& pattern);

}  // namespace stepscope
