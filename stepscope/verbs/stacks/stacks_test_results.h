// SPDX-License-Identifier: Apache-2.0
// Stacks with the trace of a rank, for tests.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "stepscope/diagnose/judged_test_results.h"
#include "stepscope/verbs/stacks/stacks.h"

namespace stepscope::test {

// StacksBesideRank as the result of the verb.
struct StacksBeside {
  StacksBesideRank made;
  StacksResult report;

  StacksBeside(std::string_view text, std::int64_t idle, std::int64_t idle_end)
      : made(text, idle, idle_end) {
    report.profile = std::move(made.profile);
    report.rules = std::move(made.rules);
    report.phases = std::move(made.phases);
    report.summary = summarize(report.profile, report.rules, report.phases);
    report.trace = StacksTrace{.job = made.run.job};
    report.trace->profiles = std::move(made.beside);
  }
};

}  // namespace stepscope::test
