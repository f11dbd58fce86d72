// SPDX-License-Identifier: Apache-2.0
// What an answer lacks, and the switch that records it (docs/how-to/record-a-trace.md).
#pragma once

#include <optional>
#include <span>

#include "stepscope/base/result.h"
#include "stepscope/diagnose/analysis.h"
#include "stepscope/say/message.h"

namespace stepscope {

// `no_mfu`: why there is no MFU budget.
[[nodiscard]] Messages analyze_warnings(const Analysis& report, const std::optional<Error>& no_mfu);

// What limits the answers of the replay; empty where nothing does.
[[nodiscard]] Messages replay_warnings(const JobResult& job);

// What a reader of the replay's answers should know: changes that change nothing, and their notes.
[[nodiscard]] Messages scenario_notes(std::span<const WhatIf> scenarios);

}  // namespace stepscope
