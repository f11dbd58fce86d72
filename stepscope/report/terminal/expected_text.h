// SPDX-License-Identifier: Apache-2.0
// Expected beside measured for the terminal; empty where nothing is expected.
#pragma once

#include <cstddef>
#include <string>

#include "stepscope/diagnose/analysis.h"

namespace stepscope {

// The step by the model.
[[nodiscard]] std::string expected_step_text(const Analysis& report, std::size_t width);
// Operators and collectives by their shapes.
[[nodiscard]] std::string expected_shapes_text(const Analysis& report, std::size_t width);

}  // namespace stepscope
