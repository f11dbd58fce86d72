// SPDX-License-Identifier: Apache-2.0
// Why a rank is late and who waits for it, in words.
#pragma once

#include <string>

#include "stepscope/analysis/ranks/stragglers.h"

namespace stepscope {

// "40.0 ms more compute than rank 2, most of it gemm in 3 of 4 steps". Names as in the trace.
[[nodiscard]] std::string cause_in_words(const StragglerCause& cause);
// "ranks 0, 1, 3 wait 1.00 s each a step for it in all_to_all"; empty where none waits.
[[nodiscard]] std::string waiting_in_words(const StragglerCause& cause);
// Both, "; " between them.
[[nodiscard]] std::string cause_and_waiting(const StragglerCause& cause);

}  // namespace stepscope
