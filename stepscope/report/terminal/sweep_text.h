// SPDX-License-Identifier: Apache-2.0
// `stepscope sweep` for the terminal: the fastest value, and those that tie with it.
#pragma once

#include <string>

#include "stepscope/pipeline/sweep.h"
#include "stepscope/report/terminal/text_options.h"

namespace stepscope {

[[nodiscard]] std::string sweep_text(const SweepResult& report, const TextOptions& options = {});

}  // namespace stepscope
