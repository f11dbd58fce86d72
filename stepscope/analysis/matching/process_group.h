// SPDX-License-Identifier: Apache-2.0
// Groups of ranks that communicate: the process group of a recorded collective, and the same group
// as several ranks recorded it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/event/trace.h"

namespace stepscope {

struct CommGroup {
  std::string name{};         // "0", "mesh_tp", a hash; "unknown" if known only by its stream
  std::string description{};  // "default_pg", "TENSOR_MODEL_PARALLEL_GROUP", "undefined" or empty
  std::vector<int> ranks{};   // global ranks in group order; empty = not recorded
  int size = -1;              // -1 = not recorded
  std::vector<int> first{};   // of a rank list that is cut ("[0, 8, ...]"): what it shows

  // The number of a rank within the group; absent: it is no member, as far as is recorded.
  [[nodiscard]] std::optional<std::size_t> place_of(int rank) const {
    const auto at = std::ranges::find(ranks, rank);
    if (at == ranks.end()) return std::nullopt;
    return static_cast<std::size_t>(at - ranks.begin());
  }
  bool operator==(const CommGroup&) const = default;
};

// "[0, 2, 4]" → its numbers. Absent for an empty list, for a truncated list ("...") and for
// anything else.
[[nodiscard]] std::optional<std::vector<int>> parse_ranks(std::string_view text);

// "[0, 2, ...]" → {0, 2}: PyTorch cuts lists of more than 30 ranks. Absent for any other text.
[[nodiscard]] std::optional<std::vector<int>> parse_cut_ranks(std::string_view text);

// The group of a collective as its rank recorded it. Its ranks come from the rank list; if that is
// truncated or missing, from (start, stride, size); then from the file's table of groups; then the
// whole world if the sizes agree. Absent if neither a name nor ranks are recorded.
[[nodiscard]] std::optional<CommGroup> group_of(const Trace& trace, const Collective& collective);

// The groups recorded by several views, joined into one list for the job.
struct GroupJoin {
  std::vector<CommGroup> groups;                      // of the job
  std::vector<std::vector<std::uint32_t>> job_group;  // [view][its group] → row of `groups`
};
// The members of a cut list are all ranks that record the same beginning; they are the group's
// ranks if their number is its size.
// Two records are one group in three cases. Their ranks and names agree. One lacks the ranks and
// the names agree. A set of ranks has exactly one group left on each traced member, under differing
// names (ranks may number groups of their own). `rank_of[view]` is the rank of the view.
[[nodiscard]] GroupJoin join_groups(std::span<const std::vector<CommGroup>> by_view,
                                    std::span<const int> rank_of);

// The cheapest assignment of n rows to n columns: the Hungarian method with potentials (Kuhn 1955,
// Munkres 1957), by shortest augmenting paths.

inline constexpr std::int64_t no_assignment = std::numeric_limits<std::int64_t>::max();

// The column of each row. `cost[row * n + column]`: at least 0, or no_assignment; sums must fit.
// Absent if there is no assignment. O(n³).
[[nodiscard]] std::optional<std::vector<std::size_t>> cheapest_assignment(
    std::span<const std::int64_t> cost, std::size_t n);

}  // namespace stepscope
