// SPDX-License-Identifier: Apache-2.0
// Which ranks read the same clock: those of one host. The host is what the trace says (host_name),
// else what PyTorch's tensorboard_trace_handler puts in front of the file's name,
// HOST_PID.TIME.pt.trace.json. A rank whose host is not known has a clock of its own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/steps/rank_view.h"

namespace stepscope {

// Empty where the trace does not tell.
[[nodiscard]] std::string host_of(const Metadata& metadata);

// Two clocks that drift apart faster than this (seconds a second) are no oscillators.
inline constexpr double most_drift = 1e-3;

struct HostClocks {
  struct Clock {
    std::string host;        // empty: not known, one rank
    std::vector<int> ranks;  // ascending
  };
  std::vector<Clock> clocks;           // by lowest rank
  std::vector<std::uint32_t> of_view;  // row of `clocks`
};
[[nodiscard]] HostClocks find_clocks(std::span<const RankView> views);

}  // namespace stepscope
