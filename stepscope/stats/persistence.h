// SPDX-License-Identifier: Apache-2.0
// Whether one of several stands out by how often it was the worst of them.
#pragma once

#include <cstdint>

namespace stepscope {

// Half way between chance and always, a share of (1 + 1 / members) / 2: one of two is the worst in
// half of the trials anyway. REQUIRES: members ≥ 1.
[[nodiscard]] constexpr bool persistently_worst(std::int64_t times, std::int64_t trials,
                                                std::int64_t members) {
  return trials > 0 && 2 * members * times >= (members + 1) * trials;
}

}  // namespace stepscope
