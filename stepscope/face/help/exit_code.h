// SPDX-License-Identifier: Apache-2.0
// The exit codes of all verbs.
#pragma once

#include <array>
#include <string_view>

namespace stepscope {

enum ExitCode : int {
  exit_done = 0,
  exit_failed = 1,
  exit_usage = 2,
  exit_regression = 3,
  exit_inconclusive = 4,
  exit_interrupted = 130
};

struct ExitMeaning {
  ExitCode code;
  std::string_view brief;
  std::string_view meaning;
};
inline constexpr std::array<ExitMeaning, 6> exit_meanings = {
    {{exit_done, "done", "The verb has done what was asked."},
     {exit_failed, "failed",
      "An input or an output failed, or the answer is that something does not fit or cannot be "
      "said."},
     {exit_usage, "wrong usage",
      "A verb, a flag or a value is unknown or missing, or values contradict each other. Nothing "
      "was done."},
     {exit_regression, "regression", "compare --max-regression has found a regression."},
     {exit_inconclusive, "inconclusive",
      "compare --max-regression cannot tell whether there is a regression (--inconclusive ok: 0)."},
     {exit_interrupted, "interrupted", "Ctrl-C or SIGTERM has ended the verb."}}};

}  // namespace stepscope
