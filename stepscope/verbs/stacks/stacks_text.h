// SPDX-License-Identifier: Apache-2.0
// `stepscope stacks` for the terminal. With a trace of the same run: what the device did while the
// host sat in each phase, where the two can be joined in time; else the budget of the trace's
// steps.
#pragma once

#include <cstddef>
#include <string>

#include "stepscope/face/text/text_options.h"
#include "stepscope/verbs/stacks/stacks.h"

namespace stepscope {

struct StacksTextOptions {
  TextOptions text{};
  bool top_down = false;
  bool bottom_up = false;
  double least = 0.01;  // share of what is shown below which a row is left out
};

[[nodiscard]] std::string stacks_text(const StacksResult& report,
                                      const StacksTextOptions& options = {});
// The section of the trace, which the result must have.
[[nodiscard]] std::string stacks_trace_text(const StacksResult& report, std::size_t width);

}  // namespace stepscope
