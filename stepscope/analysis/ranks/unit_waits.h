// SPDX-License-Identifier: Apache-2.0
// Shows whether the parameters of each unit (unit_marks.h) were there when needed. For each fetch:
// when it was issued (the host requested it), when its unit was needed (everything else that its
// first reader waits for had ended), and when it arrived (its transfer ended).
//
//   hit    arrived before it was needed
//   late   issued while something computed, but arrived after it was needed
//   miss   issued when nothing was left to compute: nothing hides it
//
// The distance that would have hidden a fetch is a number of units. It is the smallest number n
// such that the fetch would arrive in time if each fetch of the pass were issued when the n-th unit
// before its own began. It is computed from the measured compute between needs and the measured
// transfers, one after the other on their stream. Other limits of a prefetch (memory) are unknown.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/collectives/collective_times.h"
#include "stepscope/analysis/ranks/unit_marks.h"
#include "stepscope/base/enum_names.h"

namespace stepscope {

enum class FetchVerdict : std::uint8_t { hit, late, miss };
inline constexpr auto fetch_verdict_names = enum_names<FetchVerdict::miss>;

struct UnitFetch {
  std::uint32_t use = 0;  // row of UnitWaits::marks.uses
  Ns issued{};
  Ns needed{};
  Ns arrived{};
  Ns transfer{};  // alone on its stream, without waits for peers
  FetchVerdict verdict = FetchVerdict::hit;
  std::uint32_t ahead = 0;                // units whose turn came between issue and its own turn
  std::optional<std::uint32_t> distance;  // distance that would have hidden it; absent: none
  SliceId reader = no_slice;              // first operation that reads it; none without a device

  [[nodiscard]] Ns late() const { return arrived > needed ? arrived - needed : Ns{0}; }
};

struct UnitReduce {
  std::uint32_t reduction = 0;  // row of UnitWaits::marks.reductions
  std::optional<Ns> ready;      // end of the work that computes its gradient
  Ns launched{};                // request of the first of its messages
  Ns done{};
  Ns exposed{};
};

struct UnitWaits {
  UnitMarks marks;  // source `none`: no units are known
  std::vector<UnitFetch> fetches;
  std::vector<UnitReduce> reduces;
  std::uint64_t unknown = 0;  // all-gathers of a rank with reduce-scatters and no units
};

// `times` is parallel to rank.calls.
[[nodiscard]] UnitWaits find_unit_waits(const RankView& view, const RankCalls& rank,
                                        std::span<const CallTime> times, const HostPhases& phases);

// One unit and pass over all ranks and steps.
struct UnitRow {
  std::string unit;
  UnitPass pass = UnitPass::forward;
  std::uint64_t hits = 0;
  std::uint64_t late = 0;
  std::uint64_t misses = 0;
  Ns late_time{};                         // per step, mean over ranks
  Ns transfer{};                          // median
  std::uint32_t ahead = 0;                // median
  std::optional<std::uint32_t> distance;  // median of fetches that were not hits, absent if most
                                          // have no distance; 0: all were hits
  struct Worst {
    int rank = 0;
    UnitFetch fetch;
  } worst;  // the latest

  [[nodiscard]] std::uint64_t fetches() const { return hits + late + misses; }
};

struct UnitReduceRow {
  std::string unit;
  std::uint64_t count = 0;
  Ns exposed{};  // per step, mean over ranks
  Ns lag{};      // from ready to done, median; 0 if ready is unknown
};

// Sorted by late time per step, largest first.
[[nodiscard]] std::vector<UnitRow> unit_rows(std::span<const UnitWaits> waits,
                                             std::span<const RankView> views);
[[nodiscard]] std::vector<UnitReduceRow> unit_reduce_rows(std::span<const UnitWaits> waits,
                                                          std::span<const RankView> views);

struct JobUnits {
  std::vector<UnitWaits> waits;        // by rank
  std::vector<UnitRow> rows;           // over all ranks, latest first
  std::vector<UnitReduceRow> reduces;  // over all ranks, most exposed first
};

// One use of a chain. compute: from the arrival of its parameters to the next need. transfer: of
// its fetch; negative if it had no fetch to wait for. other: later work on the fetches' stream. The
// result is parallel to `uses`: the distances defined above; absent also if nothing was fetched.
struct ChainUse {
  Ns compute{};
  Ns transfer{-1};
  Ns other{};
};
[[nodiscard]] std::vector<std::optional<std::uint32_t>> hiding_distances(
    std::span<const ChainUse> uses);

}  // namespace stepscope
