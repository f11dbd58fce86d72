// SPDX-License-Identifier: Apache-2.0
// `stepscope check` for the terminal.
#pragma once

#include <string>

#include "stepscope/pipeline/check.h"
#include "stepscope/report/terminal/text_options.h"

namespace stepscope {

[[nodiscard]] std::string check_text(const CheckResult& report, const TextOptions& options = {});

}  // namespace stepscope
