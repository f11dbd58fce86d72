// SPDX-License-Identifier: Apache-2.0
// Finds the ranges of a trace that are its steps by their names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/event/trace.h"

namespace stepscope {

// "name", "name#12", "name 12", "name_12/100" and "name [12]" are steps of `wanted` = "name". If
// `wanted` ends in a sign, any number may follow: "block (layers." matches "block (layers.7)
// forward".
[[nodiscard]] bool names_step(std::string_view text, std::string_view wanted);
// 12; nullopt for a name without a number, and for numbers that JSON does not keep exactly.
[[nodiscard]] std::optional<std::int64_t> step_number(std::string_view name);

// "ProfilerStep" if the trace has any. Else the part before the numbers of ranges named like
// iterations ("step", "Iteration 7", "train_step#7") with at least two on one thread; of several
// such names the one with most time. "ProfilerStep" if there are none.
[[nodiscard]] std::string iteration_name(const Trace& trace, const RankIndex& rank);

}  // namespace stepscope
