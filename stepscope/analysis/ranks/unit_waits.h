// SPDX-License-Identifier: Apache-2.0
// Whether the parameters of each unit (unit_marks.h) were there when they were needed. For each
// fetch: when it was issued (the host asked for it), when its unit was needed (everything else that
// the first work to read it waits for had ended), and when it arrived (its transfer ended).
//
//   hit    arrived before it was needed
//   late   issued while something computed, but arrived after it was needed
//   miss   issued when nothing was left to compute: it hides behind nothing
//
// The distance that would have hidden it: the fewest units ahead of its own such that, if each
// fetch of the pass were issued when the unit that many before it began, it would arrive by its
// need. Computed from the compute between needs and the transfers, one after the other on their
// stream, as they were measured: nothing else that limits a prefetch (memory) is known.
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

namespace stepscope {

enum class FetchVerdict : std::uint8_t { hit, late, miss };
inline constexpr std::array<std::string_view, 3> fetch_verdict_names = {"hit", "late", "miss"};

struct UnitFetch {
  std::uint32_t use = 0;  // row of UnitWaits::marks.uses
  Ns issued{};
  Ns needed{};
  Ns arrived{};
  Ns transfer{};  // alone on its stream, without what peers kept it waiting
  FetchVerdict verdict = FetchVerdict::hit;
  std::uint32_t ahead = 0;                // units whose turn came between issue and its own
  std::optional<std::uint32_t> distance;  // that would have hidden it; absent: none
  SliceId reader = no_slice;  // the first operation that reads it; none without a device

  [[nodiscard]] Ns late() const { return arrived > needed ? arrived - needed : Ns{0}; }
};

struct UnitReduce {
  std::uint32_t reduction = 0;  // row of UnitWaits::marks.reductions
  std::optional<Ns> ready;      // what computes its gradient had ended
  Ns launched{};                // the first of its messages was asked for
  Ns done{};
  Ns exposed{};
};

struct UnitWaits {
  UnitMarks marks;  // source `none`: nothing is known about units
  std::vector<UnitFetch> fetches;
  std::vector<UnitReduce> reduces;
  std::uint64_t unknown = 0;  // all-gathers beside reduce-scatters of a rank without units
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
  Ns late_time{};                         // a step, mean over ranks
  Ns transfer{};                          // median
  std::uint32_t ahead = 0;                // median
  std::optional<std::uint32_t> distance;  // median of those that were not hits, absent where most
                                          // have none; 0: all were hits
  struct Worst {
    int rank = 0;
    UnitFetch fetch;
  } worst;  // the latest

  [[nodiscard]] std::uint64_t fetches() const { return hits + late + misses; }
};

struct UnitReduceRow {
  std::string unit;
  std::uint64_t count = 0;
  Ns exposed{};  // a step, mean over ranks
  Ns lag{};      // from ready to done, median; 0 where ready is not known
};

// Most late time a step first.
[[nodiscard]] std::vector<UnitRow> unit_rows(std::span<const UnitWaits> waits,
                                             std::span<const RankView> views);
[[nodiscard]] std::vector<UnitReduceRow> unit_reduce_rows(std::span<const UnitWaits> waits,
                                                          std::span<const RankView> views);

// For each use of one chain, in their order: compute from when its parameters are there until the
// next need; its fetch's transfer (negative: it had none to wait for); what else the fetches'
// stream carries after it. The answer is parallel: see above; absent too where nothing was fetched.
struct ChainUse {
  Ns compute{};
  Ns transfer{-1};
  Ns other{};
};
[[nodiscard]] std::vector<std::optional<std::uint32_t>> hiding_distances(
    std::span<const ChainUse> uses);

}  // namespace stepscope
