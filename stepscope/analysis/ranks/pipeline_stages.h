// SPDX-License-Identifier: Apache-2.0
// Which pipeline a rank belongs to and which stage of it it is, from the process groups of the
// pipeline dimension (dimensions.h). Groups that share a rank are one pipeline. Its stages are in
// the order of its largest group where that has all its ranks, else by rank: where each pair of
// neighbours has a group of its own, stages follow one another.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stepscope/analysis/collectives/dimensions.h"
#include "stepscope/analysis/matching/collective_match.h"

namespace stepscope {

struct PipelinePlace {
  std::uint32_t pipeline = 0;  // row of Pipelines::ranks
  int stage = 0;
};

struct Pipelines {
  std::vector<std::vector<int>> ranks;                // of each pipeline, by stage; traced or not
  std::vector<std::optional<PipelinePlace>> of_view;  // absent: of none that is known

  // Absent for a rank of another pipeline.
  [[nodiscard]] std::optional<int> stage_of(std::uint32_t pipeline, int rank) const;
};

// Groups whose ranks are not recorded tell nothing. O(groups · ranks).
[[nodiscard]] Pipelines find_pipelines(std::span<const RankView> views,
                                       const CollectiveMatches& matches,
                                       std::span<const Dimension> dimension_of);

}  // namespace stepscope
