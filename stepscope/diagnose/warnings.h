// SPDX-License-Identifier: Apache-2.0
// What an answer lacks, and the switch that records it (docs/how-to/record-a-trace.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/diagnose/analysis.h"

namespace stepscope {

// `no_mfu`: why there is no MFU budget.
[[nodiscard]] std::vector<std::string> analyze_warnings(const Analysis& report,
                                                        const std::optional<Error>& no_mfu);

// What limits the answers of the replay; empty where nothing does.
[[nodiscard]] std::vector<std::string> replay_warnings(const Explanation& explanation);

}  // namespace stepscope
