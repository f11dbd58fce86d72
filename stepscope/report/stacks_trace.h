// SPDX-License-Identifier: Apache-2.0
// Host profiles beside a trace of the same run: what the device did while the host sat in each
// phase, where the two can be joined in time; else the budget of the trace's steps beside the
// profile. Refers to what the caller owns.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/fit/stack_join.h"
#include "stepscope/report/analyze_report.h"
#include "stepscope/report/json_values.h"

namespace stepscope {

struct StacksReport;

struct ProfileBesideTrace {
  std::uint32_t input = 0;  // of Profile::inputs
  std::size_t rank = 0;     // place in JobResult::ranks
  std::optional<Ns> offset{};
  std::string why_not{};            // not joined in time; `join` is empty then
  std::optional<StackJoin> join{};  // on the trace's clock
};

struct StacksTrace {
  std::vector<InputRow> inputs;
  const JobResult* job = nullptr;
  std::vector<ProfileBesideTrace> profiles;
};

// What somebody with traces should try, seen in the stacks: docs/reference/findings.md.
[[nodiscard]] std::vector<Finding> stack_findings(const StacksReport& report);

// "While pt_autograd_0 is in ZeRO-3 reduce throttle the device is idle for 2 % of the time"; empty
// where nothing is joined.
[[nodiscard]] std::string stacks_trace_sentence(const StacksReport& report);
[[nodiscard]] std::string stacks_trace_text(const StacksReport& report, std::size_t width);
// docs/reference/json.md: `trace`.
[[nodiscard]] Json stacks_trace_json(const StacksReport& report);

}  // namespace stepscope
