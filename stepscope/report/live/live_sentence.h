// SPDX-License-Identifier: Apache-2.0
// What happened in a running job, as a sentence.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepscope/pipeline/live.h"

namespace stepscope {

// A phase of a rank's own work.
[[nodiscard]] std::string live_phase_in_words(std::string_view phase);
// "rank 3 (node7) is late: …". Without a full stop.
// A phase of a rank's own work.
[[nodiscard]] std::string live_phase_in_words(std::string_view phase);
[[nodiscard]] std::string event_in_words(const LiveEvent& event);
// "rank 3", "ranks 0, 1, 2 and 61 others"; "a process" if the rank is unknown.
[[nodiscard]] std::string live_ranks_in_words(const std::vector<int>& ranks, std::size_t count);
// "1 process", "8 processes".
[[nodiscard]] std::string live_processes_in_words(std::size_t count);

}  // namespace stepscope
