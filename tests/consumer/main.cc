// SPDX-License-Identifier: Apache-2.0
// The installed library without the command line: accounts for the step of a trace.
#include <cstdio>
#include <fstream>

#include "stepscope/stepscope.h"

int main() {
  const char* file = "consumer.trace.json";
  std::ofstream(file) << R"({"traceEvents": [
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 10.5, "dur": 30},
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 60, "dur": 40}]})";

  stepscope::AnalyzeRequest request;
  request.traces.inputs = {file};
  const auto result = stepscope::analyze(request);
  if (!result || result->analysis.job.ranks.size() != 1) return 1;
  const stepscope::Budget& budget = result->analysis.job.ranks[0].budget.total;
  const auto computing = budget[stepscope::BudgetCategory::compute];
  std::printf("%s", stepscope::analyze_text(result->analysis).c_str());
  return computing == stepscope::Ns{70'000} && budget.sum() == stepscope::Ns{89'500} ? 0 : 1;
}
