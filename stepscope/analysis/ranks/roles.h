// SPDX-License-Identifier: Apache-2.0
// Roles: ranks with the same work, which may be compared. A role is one pipeline stage and
// tensor-parallel position, from the process groups, else from the sizes the user gives. Otherwise
// all ranks are alike.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/collectives/dimensions.h"
#include "stepscope/analysis/matching/collective_match.h"

namespace stepscope {

// Degrees of parallelism from the user. Tensor-parallel ranks are neighbours, and a pipeline stage
// is a block of ranks (Megatron's order).
struct ParallelSizes {
  std::optional<int> tp{};
  std::optional<int> pp{};
  std::optional<int> dp{};

  // tp × pp × dp (absent ones count 1) if dp is given; only then are all ranks meant.
  [[nodiscard]] std::optional<int> world_size() const;
};

// The groups that the sizes make of the ranks 0 … world - 1, described as "tp", "pp" and "dp", and
// that of all ranks if none of these is it. A size that is not given and would be that of dp is
// what the others leave. Empty if no size is given, or if they do not divide the world.
[[nodiscard]] std::vector<CommGroup> groups_of_sizes(const ParallelSizes& sizes, int world);

using Roles = std::vector<std::string>;  // by view: "tp0.pp1", "pp1", "all"

// The tensor-parallel position counts only if every role keeps at least two ranks. Ranks of one
// tensor-parallel group do the same work, and a single rank could not be compared.
[[nodiscard]] Roles find_roles(std::span<const RankView> views, const CollectiveMatches& matches,
                               std::span<const Dimension> dimension_of,
                               const ParallelSizes& sizes = {});

}  // namespace stepscope
