// SPDX-License-Identifier: Apache-2.0
// Which ranks talk to each other: the process group behind a recorded collective, and the same
// group seen by several ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/event/trace.h"

namespace stepscope {

struct CommGroup {
  std::string name{};         // "0", "mesh_tp", a hash; "unknown" for one seen by its stream only
  std::string description{};  // "default_pg", "TENSOR_MODEL_PARALLEL_GROUP", "undefined" or empty
  std::vector<int> ranks{};   // global ranks in group order; empty = not recorded
  int size = -1;              // -1 = not recorded

  bool operator==(const CommGroup&) const = default;
};

// "[0, 2, 4]" → its numbers; absent for an empty list, for one that was cut ("...") and for
// anything else.
[[nodiscard]] std::optional<std::vector<int>> parse_ranks(std::string_view text);

// The group of a collective as its rank recorded it: the rank list, where that is cut or missing
// (start, stride, size), then the file's own table of groups, then the whole world where the sizes
// agree. Absent when neither a name nor ranks are recorded.
[[nodiscard]] std::optional<CommGroup> group_of(const Trace& trace, const Collective& collective);

// Groups as several views recorded them → one list for the job.
struct GroupJoin {
  std::vector<CommGroup> groups;                      // of the job
  std::vector<std::vector<std::uint32_t>> job_group;  // [view][its group] → row of `groups`
};
// Two ranks speak of one group when ranks and name agree, where one of them lacks the ranks when
// the name does, and where a set of ranks has exactly one group left on each of its traced members
// under differing names (ranks may number groups of their own). `rank_of[view]` is its rank.
[[nodiscard]] GroupJoin join_groups(std::span<const std::vector<CommGroup>> by_view,
                                    std::span<const int> rank_of);

}  // namespace stepscope
