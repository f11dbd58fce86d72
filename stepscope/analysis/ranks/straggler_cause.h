// SPDX-License-Identifier: Apache-2.0
// What a late rank did before it came late, and who waited for it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/collectives/collectives.h"
#include "stepscope/analysis/ranks/lateness.h"

namespace stepscope {

// What a rank did before it came late.
enum class LateDoing : std::uint8_t {
  more_compute,  // than the rank at the median
  more_loading,  // of data, likewise
  host_gap,      // the host shows no row
  host_work,     // the host was busy with something else than launching
  device_idle,   // without work, and nothing recorded tells why
  device_late,   // idle although its work was launched
  unrecorded
};

struct StragglerCause {
  LateDoing doing = LateDoing::unrecorded;
  Ns amount{};              // mean of the steps in which it did this
  std::string what;         // the kernel with most of it, or HostActivity::text; may be empty
  std::optional<int> peer;  // more_compute: than this rank
  std::size_t in_steps = 0;
  std::size_t steps = 0;                    // in which it was compared
  std::vector<int> waiting;                 // ranks that waited for it
  Ns wait{};                                // each, mean of `steps`
  std::vector<CollectiveKind> collectives;  // that they waited in
};

// `late` are arrivals of one view, largest first; `steps` is how many steps it was compared in.
// Between its previous communication and its arrival the rank had either no device work (then the
// host's activity is named) or more compute than the rank at the median (then the kernels are).
// Absent without arrivals.
[[nodiscard]] std::optional<StragglerCause> straggler_cause(std::span<const RankView> views,
                                                            const Collectives& job,
                                                            std::span<const LateArrival> late,
                                                            std::size_t steps);

}  // namespace stepscope
