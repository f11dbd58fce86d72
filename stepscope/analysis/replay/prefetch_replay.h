// SPDX-License-Identifier: Apache-2.0
// Replays the recorded steps with parameters fetched another number n of units ahead
// (unit_waits.h). The launch of each fetch moves to the start, on the host, of the n-th unit before
// its own within the pass. The work of its stream runs one after the other in the new order of
// launches. Transfers, unexplained delays and all other work stay as they were. The recorded fetch
// may also have waited for other things (work launched before it, a buffer of an earlier unit).
// These do not hold the moved fetch, because memory for the additional units is assumed. Other ends
// that woke a thread while it waited for its unit are not waited for either.
//
// In a trace of this project's trainer, units that are used again soon enough are kept instead of
// fetched again, as in its plan (zero/plan/step_plan.h). A unit that is no longer kept is fetched,
// in the time of its other fetches. Fetches for which the thread itself waits (gloo without
// async_op) stay: with an earlier request they would only be awaited earlier.
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
  std::optional<int> rank{};  // only this rank's fetches; absent: of all ranks
};

// `units`: by view. Absent if no fetch is known.
[[nodiscard]] std::optional<PrefetchReplay> replay_with_prefetch(const Replay& replay,
                                                                 std::span<const RankView> views,
                                                                 const Collectives& job,
                                                                 std::span<const UnitWaits> units,
                                                                 const PrefetchChange& change);

// The distance, in units ahead, of most fetches that can be moved; absent without such fetches.
[[nodiscard]] std::optional<std::uint32_t> recorded_prefetch(std::span<const UnitWaits> units);
// Larger distances worth trying: one and two units more, and the distance that would hide all
// fetches that prefetching can hide.
[[nodiscard]] std::vector<std::uint32_t> prefetches_to_try(std::span<const UnitWaits> units);

}  // namespace stepscope
