// SPDX-License-Identifier: Apache-2.0
// The tables below the first screen, each empty where there is nothing to say.
#pragma once

#include <string>
#include <vector>

#include "stepscope/diagnose/analysis.h"

namespace stepscope {

[[nodiscard]] std::vector<std::string> text_sections(const Analysis& report, std::size_t width);

}  // namespace stepscope
