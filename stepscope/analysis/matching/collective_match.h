// SPDX-License-Identifier: Apache-2.0
// Finds the calls of different ranks that are one collective. Calls are joined by the recorded
// number within the group (Seq), else by order within the group after the captures are aligned.
// Kind, type and count must agree. Groups that no metadata names are the streams whose calls run
// together. Calls that do not fit are reported, never guessed. Nothing is matched unless clocks are
// comparable and windows overlap. A clock with a larger offset is recognised by the pattern of its
// collectives (coarse_offset.h).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "stepscope/analysis/matching/collective_matches.h"
#include "stepscope/base/crew.h"

namespace stepscope {

struct MatchOptions {
  std::optional<int> world_size;   // from the user; else the largest in any trace
  std::vector<CommGroup> given{};  // from the user: candidates where a file lists no groups
  bool across_clocks = true;       // recognise clocks that are far apart
  Workers threads{};
};

[[nodiscard]] CollectiveMatches match_collectives(std::span<const RankView> views,
                                                  const MatchOptions& options = {});

}  // namespace stepscope
