// SPDX-License-Identifier: Apache-2.0
// The recorded steps replayed with parameters fetched another number of units ahead (unit_waits.h):
// the launch of each fetch moves to where the unit that many before its own begins, on the host,
// within its pass; what its stream carries goes in the new order of launches, one after the other;
// transfers, delays that nobody knows the cause of, and all other work stay as they were. What the
// recorded fetch waited for besides its launch and its stream (work launched before it, a buffer of
// a unit used before) is taken not to hold the moved one: it has the memory of so many more units.
// What else ended while a thread stood before its unit, and woke it, it would not have waited for.
//
// In a trace of this project's trainer units that are used again soon enough are kept instead of
// fetched again, as its plan does (zero/plan/step_plan.h); one that is no longer kept is fetched,
// for what its other fetches take. Fetches that the thread itself waits for (gloo without async_op)
// stay: asked for earlier they would only be waited for earlier.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "stepscope/analysis/ranks/unit_waits.h"
#include "stepscope/analysis/replay/replay.h"

namespace stepscope {

struct PrefetchReplay {
  Ns step{};
  std::size_t moved = 0;
  std::size_t dropped = 0;  // fetches that are no longer made
  std::size_t added = 0;    // fetches that were not made before
};

struct PrefetchChange {
  std::uint32_t ahead = 0;
  std::optional<int> rank{};  // only its fetches; of all
};

// `units` by view. Absent where no fetch is known.
[[nodiscard]] std::optional<PrefetchReplay> replay_with_prefetch(const Replay& replay,
                                                                 std::span<const RankView> views,
                                                                 const Collectives& job,
                                                                 std::span<const UnitWaits> units,
                                                                 const PrefetchChange& change);

// How many units ahead most fetches that can be moved were issued; absent without any.
[[nodiscard]] std::optional<std::uint32_t> recorded_prefetch(std::span<const UnitWaits> units);
// Farther ahead, worth asking about: one and two units more, and what would hide all fetches that
// more prefetching can hide.
[[nodiscard]] std::vector<std::uint32_t> prefetches_to_try(std::span<const UnitWaits> units);

}  // namespace stepscope
