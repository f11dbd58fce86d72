// SPDX-License-Identifier: Apache-2.0
// `stepscope sweep`: which value of a setting is fastest, and which values cannot be distinguished
// from it?
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "stepscope/analysis/runs/compare_runs.h"
#include "stepscope/base/progress.h"
#include "stepscope/base/result.h"
#include "stepscope/say/message.h"
#include "stepscope/verbs/inputs/launches.h"

namespace stepscope {

struct SweepRequest {
  std::string name{};                  // of the setting; {NAME} in the command becomes each value
  std::vector<std::string> values{};   // distinct, not empty
  std::vector<std::string> command{};  // the program and its arguments; {NAME} and {out} in them
  LaunchLimits limits{.launches = 2};  // of each value, forth and back
  LaunchReading reading{};
  CompareOptions options{};  // share of false calls, practical floor (share of one), warm-up steps
};

struct SweepResult {
  std::string version;
  std::string name;  // of the setting
  Sweep sweep;
  CompareOptions options{};
  std::vector<std::string> order{};  // of the launches, by value
  Messages warnings{};
};

// Errors: wrong usage, a launch that failed, interrupted.
[[nodiscard]] Result<SweepResult> sweep(const SweepRequest& request, const Progress& progress = {});

}  // namespace stepscope
