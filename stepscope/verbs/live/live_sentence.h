// SPDX-License-Identifier: Apache-2.0
// What happened in a running job, and the answer to "is my job fine?". The answer names the faults
// that are seen now, and what no source shows.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "stepscope/say/message.h"
#include "stepscope/verbs/live/live.h"

namespace stepscope {

// "rank 3 on node7 comes late: …".
[[nodiscard]] Message event_in_words(const LiveEvent& event);
// "rank 3", "ranks 0, 1, 2 and 61 others"; "a process" if the rank is unknown.
[[nodiscard]] Message live_ranks_in_words(const std::vector<int>& ranks, std::size_t count);

struct LiveAnswer {
  std::optional<bool> fine{};  // absent: nothing is known yet
  Message sentence{};          // what is wrong, the worst first; else what is seen to be right
  Message unseen{};            // what no source says; empty: nothing is missing
};

[[nodiscard]] LiveAnswer live_answer(const LiveView& view);

}  // namespace stepscope
