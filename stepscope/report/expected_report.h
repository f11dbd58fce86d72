// SPDX-License-Identifier: Apache-2.0
// Expected beside measured, for the terminal and for the JSON (from which page and CSV are made).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepscope/diagnose/analysis.h"
#include "stepscope/fit/expectation.h"
#include "stepscope/report/json_values.h"

namespace stepscope {

[[nodiscard]] std::string_view words_of(StepClass c);

// The largest excess of each comparison in one sentence; those without an answer are left out.
[[nodiscard]] std::vector<std::string> expected_sentences(const Analysis& report);

[[nodiscard]] Json expected_json(const Analysis& report);

// For the terminal: the step by the model, then operators and collectives by their shapes. Empty
// where nothing is expected.
[[nodiscard]] std::string expected_step_text(const Analysis& report, std::size_t width);
[[nodiscard]] std::string expected_shapes_text(const Analysis& report, std::size_t width);

}  // namespace stepscope
