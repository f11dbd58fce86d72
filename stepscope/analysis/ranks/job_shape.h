// SPDX-License-Identifier: Apache-2.0
// The degrees of parallelism and the batch of a job, as its traces show them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stepscope/analysis/collectives/collectives.h"
#include "stepscope/analysis/ranks/pipeline_bubble.h"
#include "stepscope/analysis/steps/steps.h"

namespace stepscope {

struct JobShape {
  std::int64_t tp = 1;
  std::int64_t cp = 1;
  std::int64_t ep = 1;  // among the cp * dp ranks
  std::int64_t pp = 1;
  std::int64_t dp = 1;
  std::optional<std::int64_t> micro_batches{};  // of one pipeline in a step; absent: not known
  std::optional<std::int64_t> micro_batch{};    // sequences of one; absent: not known

  [[nodiscard]] std::int64_t devices() const { return tp * cp * pp * dp; }
};

// The lookups of tokens: the calls of aten::embedding on the largest table, recorded with shapes.
struct TokenLookups {
  std::int64_t sequences = 1;  // of one call
  std::int64_t tokens = 1;     // of a sequence on this rank; a context-parallel rank has a part
  std::int64_t calls = 1;      // in a step
};

// The usual calls of the steps, over all ranks that have such calls. Absent if no rank has one, or
// if the indices are not [sequences, tokens].
[[nodiscard]] std::optional<TokenLookups> token_lookups(std::span<const RankView> views);

// From the largest group of each dimension that a rank used; dp is what these leave of the world,
// whose size is given or is that of the traces. Micro-batches are those of the pipeline's messages,
// else the lookups of a step.
[[nodiscard]] JobShape recorded_shape(const Collectives& collectives,
                                      const PipelineBubble* pipeline,
                                      const std::optional<TokenLookups>& lookups,
                                      std::optional<int> world_size);

// By row of CollectiveMatches::groups: true for the groups whose members differ in their
// data-parallel place, so that more data-parallel ranks make them larger. If a job shards its
// states over fewer ranks than all (hybrid sharding), these are the groups over the copies of a
// shard.
[[nodiscard]] std::vector<bool> data_groups(const Collectives& collectives, const JobShape& shape);

}  // namespace stepscope
