// SPDX-License-Identifier: Apache-2.0
// Learns which operations of other streams an operation waits for, from many steps and ranks that
// run the same program. Most traces have no row for such a wait. It shows only where the wait was
// the last to end: the operation then begins right after the awaited one. The program is the same
// in every step, so what is seen once holds in all steps and ranks in which nothing contradicts it.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "stepscope/base/crew.h"
#include "stepscope/base/quantity.h"

namespace stepscope {

inline constexpr std::uint32_t no_use = std::numeric_limits<std::uint32_t>::max();

// One operation of a device, or the return of a call that may have waited for the device.
struct OrderedUse {
  std::uint64_t name = 0;  // equal in all steps and ranks
  std::int32_t step = 0;   // of its launch, an ordinal
  std::uint32_t lane = 0;  // stream; no_lane for a call
  Ns ready{};              // end of all that is known to hold it; start of a call
  Ns start{};              // return of a call
  Ns end{};
  Ns wake_up{};  // it begins at most this long after what it waited for
  bool communication = false;
  // Uses that it follows by a rule of its library, or as its host called, unless the instants
  // contradict; or no_use.
  std::array<std::uint32_t, 2> follows{no_use, no_use};
};
inline constexpr std::uint32_t no_lane = std::numeric_limits<std::uint32_t>::max();

// `after` waits for `before`.
struct UseOrder {
  std::uint32_t before = 0;  // index into the uses of the view
  std::uint32_t after = 0;
};

// `views`: the uses of each rank in the order of their launch. Returns by view. Two operations are
// the same if name and occurrence within the step are equal. Ranks run the same program if most of
// their steps have the same operations in the same order. An order holds if at least one use began
// within `wake_up` of the other's end with nothing else to explain it, or if a library or a call
// says so, and at most one in a hundred uses began before the other ended. Steps with other
// operations contradict only for themselves: where all steps together contradict, an order holds in
// the kinds of steps that show it and do not. The last of several orders on one stream holds.
// O(uses log uses).
[[nodiscard]] std::vector<std::vector<UseOrder>> learn_order(
    std::span<const std::vector<OrderedUse>> views, const Workers& workers = {});

}  // namespace stepscope
