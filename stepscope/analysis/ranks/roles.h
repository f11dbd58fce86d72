// SPDX-License-Identifier: Apache-2.0
// Which ranks do the same work and may be compared: those of one pipeline stage and tensor-parallel
// position. From the process groups, else from the sizes the user gives, else all alike.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/collectives/dimensions.h"
#include "stepscope/analysis/matching/collective_match.h"

namespace stepscope {

// Degrees of parallelism that the user gives; tensor-parallel ranks are neighbours and a pipeline
// stage is a block of ranks (Megatron's order).
struct ParallelSizes {
  std::optional<int> tp{};
  std::optional<int> pp{};
  std::optional<int> dp{};

  // tp × pp × dp (absent ones count 1) where all ranks are meant, i.e. dp is given.
  [[nodiscard]] std::optional<int> world_size() const;
};

enum class RoleSource : std::uint8_t { process_groups, sizes, all_alike };

struct Roles {
  std::vector<std::string> of_view;  // "tp0.pp1", "pp1", "all"
  RoleSource source = RoleSource::all_alike;
};

// Tensor-parallel position counts only where every role keeps two ranks or more: ranks of one
// tensor-parallel group do the same work, and alone none could be compared.
[[nodiscard]] Roles find_roles(std::span<const RankView> views, const CollectiveMatches& matches,
                               std::span<const Dimension> dimension_of,
                               const ParallelSizes& sizes = {});

}  // namespace stepscope
