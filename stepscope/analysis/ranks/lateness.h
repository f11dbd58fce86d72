// SPDX-License-Identifier: Apache-2.0
// How late each member of each matched collective came, within its role.
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
  Ns late{};                  // 0 for the median and those before it
  // Part of `late` that an earlier collective showed already: the median hid it behind compute
  // instead of waiting for the rank, so the same delay is seen again.
  Ns carried{};
  bool last = false;  // of its role
};

// Messages are left out (a receive is late because of its sender's schedule), and so are calls
// outside the steps and roles with a single member. Differences up to `noise` count as none.
[[nodiscard]] std::vector<LateArrival> late_arrivals(const Collectives& job, const Roles& roles,
                                                     Ns noise);

}  // namespace stepscope
