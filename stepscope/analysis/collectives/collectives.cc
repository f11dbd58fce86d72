// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/collectives/collectives.h"

#include <utility>

#include "stepscope/analysis/collectives/collective_rows.h"
#include "stepscope/analysis/collectives/exposed.h"
#include "stepscope/base/parallel_for.h"

namespace stepscope {

Collectives analyze_collectives(std::span<const RankView> views, const CollectiveOptions& options) {
  return analyze_collectives(
      views,
      match_collectives(views, {.world_size = options.world_size, .threads = options.threads}),
      options);
}

Collectives analyze_collectives(std::span<const RankView> views, CollectiveMatches matches,
                                const CollectiveOptions& options) {
  Collectives job;
  job.matches = std::move(matches);
  job.times = collective_times(views, job.matches);
  job.dimension_of = find_dimensions(views, job.matches, options.dimensions);
  job.exposed.resize(views.size());
  job.splits.resize(views.size());
  parallel_for(views.size(), options.threads, [&](std::size_t v) {
    const RankCalls& rank = job.matches.ranks[v];
    job.exposed[v] = exposed_times(views[v], rank.calls);
    job.splits[v] = comm_split(rank, job.times.by_view[v]);
  });
  job.rows = collective_rows(views, job);
  job.dimensions = dimension_rows(job.rows);
  return job;
}

}  // namespace stepscope
