// SPDX-License-Identifier: Apache-2.0
// Why a rank is late and who waits for it, in words.
#pragma once

#include <cstddef>
#include <span>

#include "stepscope/analysis/ranks/stragglers.h"
#include "stepscope/say/message.h"

namespace stepscope {

// "40.0 ms more compute than rank 2, most of it gemm in 3 of 4 steps". Names as in the trace.
[[nodiscard]] Message cause_in_words(const StragglerCause& cause);
// The rank that comes latest by far, or the ranks if fewer than half of `all` do, where no replay
// accuses one; nothing without such ranks, or if they wait for another. Known also where only some
// of the job's ranks are given.
[[nodiscard]] Message latest_in_words(std::span<const Straggler> ranks, std::size_t all);
// "ranks 0, 1, 3 wait 1.00 s each a step for it in all_to_all"; nothing where none waits.
[[nodiscard]] Message waiting_in_words(const StragglerCause& cause);
// Both, "; " between them.
[[nodiscard]] Message cause_and_waiting(const StragglerCause& cause);

}  // namespace stepscope
