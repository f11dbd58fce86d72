// SPDX-License-Identifier: Apache-2.0
// Host profiles beside a trace of the same run: what the device did while the host sat in each
// phase, where the two can be joined in time; else the budget of the trace's steps beside the
// profile.
#pragma once

#include <cstddef>
#include <string>

#include "stepscope/pipeline/stacks.h"
#include "stepscope/report/json_values.h"

namespace stepscope {

// "While pt_autograd_0 is in ZeRO-3 reduce throttle the device is idle for 2 % of the time"; empty
// where nothing is joined.
[[nodiscard]] std::string stacks_trace_sentence(const StacksResult& report);
[[nodiscard]] std::string stacks_trace_text(const StacksResult& report, std::size_t width);
// docs/reference/json.md: `trace`.
[[nodiscard]] Json stacks_trace_json(const StacksResult& report);

}  // namespace stepscope
