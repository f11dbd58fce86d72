// SPDX-License-Identifier: Apache-2.0
// Groups ranks that read the same clock: the ranks of one host. The host is the trace's host_name,
// else the prefix that PyTorch's tensorboard_trace_handler gives the file,
// HOST_PID.TIME.pt.trace.json. A rank whose host is unknown has a clock of its own.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/matching/collective_calls.h"
#include "stepscope/analysis/steps/steps.h"

namespace stepscope {

// Empty if the trace does not name it.
[[nodiscard]] std::string host_of(const Metadata& metadata);

struct RankHost {
  std::uint32_t host = 0;  // numbered by lowest rank
  int place = 0;           // among the host's traced ranks
  int first = 0;           // lowest and highest rank of the host
  int last = 0;
};
struct RankHosts {
  std::map<int, RankHost> of_rank;  // ranks whose traces name their host
  int most = 0;                     // traced ranks on one host
  bool given = false;               // the user says how many devices share the fast links
};
[[nodiscard]] RankHosts hosts_of(std::span<const RankView> views);

// Whether an instant of one view says nothing of those of another.
[[nodiscard]] bool any_relative(std::span<const RankView> views);

// Limit of drift in seconds per second. Two real oscillators drift apart more slowly.
inline constexpr double most_drift = 1e-3;

struct HostClocks {
  struct Clock {
    std::string host;        // empty: unknown, one rank
    std::vector<int> ranks;  // ascending
  };
  std::vector<Clock> clocks;           // by lowest rank
  std::vector<std::uint32_t> of_view;  // row of `clocks`
};
[[nodiscard]] HostClocks find_clocks(std::span<const RankView> views);
// A clock for each rank whose collectives are rows of a device: processes of one host convert the
// device's instants on their own, so these may disagree although the host has one clock. Ranks
// whose collectives are rows of host threads have the host's. `calls`: by view.
[[nodiscard]] HostClocks clocks_of_devices(std::span<const RankView> views,
                                           std::span<const RankCalls> calls);

}  // namespace stepscope
