// SPDX-License-Identifier: Apache-2.0
// Why a rank arrives late at collectives: what it did more than the rank at the median arrival
// since both left the same communication that nothing hid, or since the step began. The difference
// is divided into waiting for others, transfers, data loading, compute and time without work, and
// the largest part is the cause if it explains half of the lateness. A rank that waits for another
// is no cause itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/collectives/collectives.h"

namespace stepscope {

// The lateness of a member of a matched collective within its role.
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

// The activity of a rank before it arrived late.
enum class LateDoing : std::uint8_t {
  waits_for,        // another rank, in an earlier communication
  longer_transfer,  // of an earlier communication, than the rank at the median
  more_compute,     // than the rank at the median
  more_loading,     // of data, than the rank at the median
  host_gap,         // the host shows no row
  host_work,        // the host was busy with other work than launching
  device_idle,      // without work, for no recorded reason
  device_late,      // idle although its work was launched
  unrecorded
};

struct StragglerCause {
  LateDoing doing = LateDoing::unrecorded;
  Ns amount{};         // mean over the steps in which it did this
  std::string what{};  // kernel or kind of collective with most of it, or HostActivity::text; empty
                       // where no name has half of it
  std::optional<int> peer{};  // waits_for: that rank; more_compute: the rank compared with, if one
  std::size_t in_steps = 0;
  std::size_t steps = 0;                      // steps in which it was compared
  std::vector<int> waiting{};                 // ranks that waited for it; none if it waits itself
  Ns wait{};                                  // of each waiting rank, mean over `steps`
  std::vector<CollectiveKind> collectives{};  // collectives in which they waited
};

// By view and call: row of CollectiveMatches::matched, or no_row.
using MatchedRows = std::vector<std::vector<std::uint32_t>>;
[[nodiscard]] MatchedRows matched_rows(const CollectiveMatches& matches);

// `late` has arrivals of one view, largest first. `steps` is the number of steps in which the rank
// was compared. Absent without a cause that explains the lateness.
[[nodiscard]] std::optional<StragglerCause> straggler_cause(std::span<const RankView> views,
                                                            const Collectives& job,
                                                            const MatchedRows& matched,
                                                            std::span<const LateArrival> late,
                                                            std::size_t steps);

}  // namespace stepscope
