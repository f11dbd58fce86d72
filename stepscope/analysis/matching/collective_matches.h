// SPDX-License-Identifier: Apache-2.0
// The calls of the ranks that are one collective, and those that fit none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/matching/collective_calls.h"
#include "stepscope/analysis/matching/host_clock.h"
#include "stepscope/analysis/matching/loose_groups.h"
#include "stepscope/event/clock_correction.h"
#include "stepscope/say/message.h"

namespace stepscope {

struct CollectiveMember {
  std::uint32_t view = 0;
  std::uint32_t call = 0;  // row of its RankCalls::calls
};

struct MatchedCollective {
  CollectiveKind kind = CollectiveKind::unknown;
  std::uint32_t group = no_row;  // row of CollectiveMatches::groups
  std::int64_t ordinal = 0;      // Seq, or counted from the first call of any rank
  std::uint32_t first = 0;       // members [first, first + count), by view
  std::uint32_t count = 0;
  bool complete = false;  // every rank of the group is traced and a member
  bool message = false;   // one send with its receive; a fused call is in several
};

struct CollectiveMismatch {
  std::string group;
  std::optional<std::int64_t> ordinal;  // absent: concerns the capture, not one collective
  std::vector<int> ranks;               // ranks that differ from the others or lack it
  Message what;
  bool outside_capture = false;  // first or last calls were not captured; this is usual
};

struct CollectiveMatches {
  std::vector<CommGroup> groups;           // of the job
  std::vector<RankCalls> ranks;            // by view; CollectiveCall::group is a row of `groups`
  std::vector<MatchedCollective> matched;  // at least two members each, all of them traced
  std::vector<CollectiveMember> members;
  std::vector<CollectiveMismatch> mismatches;
  std::vector<UnsureGroup> unsure;  // their calls have no group and are not matched
  bool clocks_comparable = false;   // UNIX clocks, and every window overlaps another's
  // By view: the clock offset that matching assumed; calls keep their own instants.
  std::vector<ClockCorrection> coarse;
  std::optional<int> world_size;
  std::size_t left_out = 0;  // ranks whose traces are there and were not asked for
  RankHosts hosts;

  [[nodiscard]] std::span<const CollectiveMember> members_of(const MatchedCollective& m) const {
    return std::span(members).subspan(m.first, m.count);
  }
  [[nodiscard]] const CollectiveCall& call(CollectiveMember m) const {
    return ranks[m.view].calls[m.call];
  }
};

}  // namespace stepscope
