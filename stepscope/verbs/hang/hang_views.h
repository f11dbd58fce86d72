// SPDX-License-Identifier: Apache-2.0
// What people and programs see of a job that stands still: the public JSON
// (docs/reference/json/hang.md), the terminal's text.
#pragma once

#include <string>

#include "stepscope/face/text/text_options.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/verbs/hang/hang.h"

namespace stepscope {

[[nodiscard]] Json hang_tree(const HangResult& result);

[[nodiscard]] std::string hang_text(const HangResult& result, const TextOptions& options = {});

}  // namespace stepscope
