// SPDX-License-Identifier: Apache-2.0
// What to do about the first sentence of an analysis: a remedy in words, and the command that
// replays the step without the cause.
#pragma once

#include <string>
#include <string_view>

#include "stepscope/diagnose/analysis.h"
#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/say/message.h"

namespace stepscope {

// The finding that the first sentence states, in report.findings; null if it states another thing.
[[nodiscard]] const Finding* said_finding(const Analysis& report);

// Empty if the first sentence states no finding.
[[nodiscard]] Message remedy_of(const Analysis& report);

// The word as a shell takes it, quoted if need be. Empty: it has no place in a printed line.
[[nodiscard]] std::string word_for_shell(const std::string& word);

// The command that replays the change, to be pasted into a shell; empty without a change.
[[nodiscard]] std::string whatif_command(const Analysis& report, std::string_view change);
// That of the verdict; empty without a verdict that a replay can show.
[[nodiscard]] std::string whatif_command(const Analysis& report);

}  // namespace stepscope
