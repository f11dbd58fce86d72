// SPDX-License-Identifier: Apache-2.0
// The pipeline and stage of each rank, from the process groups of the pipeline dimension
// (dimensions.h). Groups that share a rank are one pipeline. Its stages are in the order of its
// largest group if that contains all its ranks, else in the order of ranks: then each pair of
// neighbours has its own group, and stages follow one another.
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
  std::vector<std::vector<int>> ranks;                // of each pipeline, by stage, traced or not
  std::vector<std::optional<PipelinePlace>> of_view;  // absent: in no known pipeline

  // Absent for a rank of another pipeline.
  [[nodiscard]] std::optional<int> stage_of(std::uint32_t pipeline, int rank) const;
};

// Groups without recorded ranks are ignored. O(groups · ranks).
[[nodiscard]] Pipelines find_pipelines(std::span<const RankView> views,
                                       const CollectiveMatches& matches,
                                       std::span<const Dimension> dimension_of);

}  // namespace stepscope
