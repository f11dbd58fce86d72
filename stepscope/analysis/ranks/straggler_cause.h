// SPDX-License-Identifier: Apache-2.0
// The activity of a late rank before it arrived late, and the ranks that waited for it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/collectives/collectives.h"
#include "stepscope/analysis/ranks/lateness.h"

namespace stepscope {

// The activity of a rank before it arrived late.
enum class LateDoing : std::uint8_t {
  more_compute,  // than the rank at the median
  more_loading,  // of data, than the rank at the median
  host_gap,      // the host shows no row
  host_work,     // the host was busy with other work than launching
  device_idle,   // without work, for no recorded reason
  device_late,   // idle although its work was launched
  unrecorded
};

struct StragglerCause {
  LateDoing doing = LateDoing::unrecorded;
  Ns amount{};              // mean over the steps in which it did this
  std::string what;         // kernel with most of it, or HostActivity::text; may be empty
  std::optional<int> peer;  // for more_compute: the rank compared with
  std::size_t in_steps = 0;
  std::size_t steps = 0;                    // steps in which it was compared
  std::vector<int> waiting;                 // ranks that waited for it
  Ns wait{};                                // of each waiting rank, mean over `steps`
  std::vector<CollectiveKind> collectives;  // collectives in which they waited
};

// `late` has arrivals of one view, largest first. `steps` is the number of steps in which the rank
// was compared. Between its previous communication and its arrival the rank had either no device
// work (then the result names the host's activity) or more compute than the rank at the median
// (then it names the kernels). Absent without arrivals.
[[nodiscard]] std::optional<StragglerCause> straggler_cause(std::span<const RankView> views,
                                                            const Collectives& job,
                                                            std::span<const LateArrival> late,
                                                            std::size_t steps);

}  // namespace stepscope
