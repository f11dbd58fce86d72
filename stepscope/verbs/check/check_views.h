// SPDX-License-Identifier: Apache-2.0
// What people and programs see of checked steps: a sentence, the public JSON
// (docs/reference/json/check.md), the terminal's text.
#pragma once

#include <string>
#include <vector>

#include "stepscope/face/text/text_options.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/say/message.h"
#include "stepscope/verbs/check/check.h"

namespace stepscope {

// "From step 41 on a step takes … Worth a look: idle (6 of 7 checks could be made)."
[[nodiscard]] std::string check_answer(const CheckResult& result);

[[nodiscard]] Json check_tree(const CheckResult& report);

[[nodiscard]] std::string check_text(const CheckResult& report, const TextOptions& options = {});

}  // namespace stepscope
