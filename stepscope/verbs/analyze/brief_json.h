// SPDX-License-Identifier: Apache-2.0
// `stepscope analyze --brief --json`: the answer, what to try and the next command, in less than
// 2,000 tokens however many ranks there are, for programs and assistants (docs/reference/json.md).
#pragma once

#include <string>
#include <string_view>

#include "stepscope/diagnose/analysis.h"
#include "stepscope/face/tree/json_values.h"

namespace stepscope {

// The command that replays the change, to be pasted into a shell; empty without a change.
[[nodiscard]] std::string whatif_command(const Analysis& report, std::string_view change);

[[nodiscard]] Json brief_tree(const Analysis& report);

}  // namespace stepscope
