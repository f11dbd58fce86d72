// SPDX-License-Identifier: Apache-2.0
// `stepscope analyze --brief --json`: the answer, what to try and the next command, in less than
// 2,000 tokens however many ranks there are, for programs and assistants
// (docs/reference/json/analyze.md).
#pragma once

#include "stepscope/diagnose/analysis.h"
#include "stepscope/face/tree/json_values.h"

namespace stepscope {

[[nodiscard]] Json brief_tree(const Analysis& report);

}  // namespace stepscope
