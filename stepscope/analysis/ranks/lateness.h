// SPDX-License-Identifier: Apache-2.0
// The lateness of each member of each matched collective within its role.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stepscope/analysis/collectives/collectives.h"
#include "stepscope/analysis/ranks/roles.h"

namespace stepscope {

struct LateArrival {
  CollectiveMember member;
  CollectiveMember median;    // the member at the median arrival of the same role
  std::uint32_t matched = 0;  // row of CollectiveMatches::matched
  std::uint32_t step = 0;     // row of the view's steps
  Ns late{};                  // 0 for the median and the members before it
  // The part of `late` that an earlier collective already showed. The median rank hid it behind
  // compute instead of waiting, so the same delay shows again.
  Ns carried{};
  bool last = false;  // last of its role
};

// Excludes messages (a receive is late because of its sender's schedule), calls outside the steps,
// and roles with a single member. Differences up to `noise` count as 0.
[[nodiscard]] std::vector<LateArrival> late_arrivals(const Collectives& job, const Roles& roles,
                                                     Ns noise);

}  // namespace stepscope
