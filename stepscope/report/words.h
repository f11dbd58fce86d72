// SPDX-License-Identifier: Apache-2.0
// What the terminal calls the causes: plain words instead of the keys of the JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/budget/time_budget.h"
#include "stepscope/analysis/ranks/stragglers.h"
#include "stepscope/fit/mfu_budget.h"

namespace stepscope {

// On a CPU run operators are the device, so what lies between them has another name.
[[nodiscard]] std::string_view words_of(BudgetCategory category, bool cpu);
[[nodiscard]] std::string_view words_of(MfuTerm term, bool cpu);

// "1 step", "3 steps".
[[nodiscard]] std::string counted(std::uint64_t n, std::string_view noun);

// "rank 3", "ranks 0, 1, 3", "9 ranks".
[[nodiscard]] std::string ranks_in_words(const std::vector<int>& ranks);

// What a host thread did (IdleInstance::host_activity) as the end of a sentence that begins with
// "while": "the host is in aten::item", "the host shows no row between a and b".
[[nodiscard]] std::string host_doing(std::string_view activity);

// "40.0 ms more compute than rank 2, most of it gemm in 3 of 4 steps". Names as in the trace.
[[nodiscard]] std::string cause_in_words(const StragglerCause& cause);
// "ranks 0, 1, 3 wait 1.00 s each a step for it in all_to_all"; empty where none waits.
[[nodiscard]] std::string waiting_in_words(const StragglerCause& cause);
// Both, "; " between them.
[[nodiscard]] std::string cause_and_waiting(const StragglerCause& cause);

}  // namespace stepscope
