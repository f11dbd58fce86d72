// SPDX-License-Identifier: Apache-2.0
// `stepscope plan` for the terminal: the best plan, why it wins, what comes near, what was left
// out, and the user's own plans beside it.
#pragma once

#include <string>

#include "stepscope/pipeline/plan.h"
#include "stepscope/report/terminal/text_options.h"

namespace stepscope {

struct PlanTextOptions {
  TextOptions text{};
  std::string framework{};  // whose flags for the best plan are shown ("Megatron-LM"), or empty
};

[[nodiscard]] std::string plan_text(const PlanResult& result, const PlanTextOptions& options = {});

}  // namespace stepscope
