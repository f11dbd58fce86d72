// SPDX-License-Identifier: Apache-2.0
// Tests whether one member of a group is the worst persistently.
#pragma once

#include <cstdint>

namespace stepscope {

// The threshold is half way between chance and always, a share of (1 + 1 / members) / 2. One of two
// is the worst in half of the trials by chance. REQUIRES: members ≥ 1.
[[nodiscard]] constexpr bool persistently_worst(std::int64_t times, std::int64_t trials,
                                                std::int64_t members) {
  return trials > 0 && 2 * members * times >= (members + 1) * trials;
}

}  // namespace stepscope
