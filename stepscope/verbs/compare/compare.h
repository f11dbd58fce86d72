// SPDX-License-Identifier: Apache-2.0
// `stepscope compare`: do the steps of B take longer than those of A, how sure is that, and what
// changed within the step?
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stepscope/analysis/runs/compare_runs.h"
#include "stepscope/base/progress.h"
#include "stepscope/base/result.h"
#include "stepscope/say/message.h"
#include "stepscope/verbs/inputs/launches.h"

namespace stepscope {

struct CompareRequest {
  // Launches of A and of B, in the order they ran: traces, directories or patterns of them, the
  // JSON of `stepscope train`, logs, lists of step times. Empty where commands are given.
  std::vector<std::string> a{};
  std::vector<std::string> b{};
  // Names of A and of B in the answer; empty: the first input, or the command.
  std::string label_a{};
  std::string label_b{};
  // Shell commands of A and of B, launched here in the order A B B A.
  std::optional<std::pair<std::string, std::string>> commands{};
  LaunchLimits limits{};
  LaunchReading reading{};
  // The order in which the launches ran: false is A. Names each launch once; empty: not known.
  std::vector<bool> order{};
  CompareOptions
      options{};  // chance of a wrong call, practical floor (share of one), warm-up steps
  // Share of one; absent: not asked. A limit below the floor takes the floor's place.
  std::optional<double> max_regression{};
};

struct Comparison {
  std::string version;
  std::string label_a;  // of the request
  std::string label_b;
  RunComparison runs;
  CompareOptions options{};
  std::optional<double> max_regression{};  // share of one
  std::optional<bool> regression{};        // regression_of(); absent with a limit: undecided
  std::string order{};                     // of the launches, "ABBA"; empty: not known
  Messages warnings{};
  std::vector<Error> failures{};  // inputs that could not be read
};

// Whether B is slower, and by more than `max_regression` (share of one). Absent if that is not
// asked or cannot be decided: the verdict is open and the interval reaches beyond the limit, or the
// steps are too few.
[[nodiscard]] std::optional<bool> regression_of(const RunComparison& runs,
                                                std::optional<double> max_regression);

// Errors: wrong usage, a launch that failed, no launch left of an arm (the first failure),
// interrupted.
[[nodiscard]] Result<Comparison> compare(const CompareRequest& request,
                                         const Progress& progress = {});

}  // namespace stepscope
