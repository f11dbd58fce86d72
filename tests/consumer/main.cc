// SPDX-License-Identifier: Apache-2.0
// The installed library without the command line: reads a trace and accounts for its step.
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "stepscope/analysis/budget/time_budget.h"
#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/read/files/read_trace.h"

int main() {
  const std::vector<std::string> files{"consumer.trace.json"};
  std::ofstream(files[0]) << R"({"traceEvents": [
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 10.5, "dur": 30},
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 60, "dur": 40}]})";

  const auto run = stepscope::read_run(files);
  if (run.ranks.size() != 1) return 1;
  const auto& trace = run.ranks[0].trace;
  const auto rank = stepscope::index_rank(trace);
  const auto steps = stepscope::find_steps(trace, rank);
  const auto budget = stepscope::time_budget(trace, rank, steps);
  const auto computing = budget.total[stepscope::BudgetCategory::compute];
  std::printf("computing %lld of %lld ns\n", static_cast<long long>(computing.count()),
              static_cast<long long>(budget.total.sum().count()));
  return computing == stepscope::Ns{70'000} && budget.total.sum() == stepscope::Ns{89'500} ? 0 : 1;
}
