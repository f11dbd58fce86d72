// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/search/search_rank.h"

#include <algorithm>
#include <vector>

#include "stepscope/base/parallel_for.h"
#include "stepscope/cost/search/search_shape.h"

namespace stepscope {

Result<PlanRank> rank_plan(const Transformer& model, const Machine& machine, const Network& network,
                           const SearchRequest& request, const RankQuestion& question) {
  if (!machine.memory) {
    return Error{.what = "machine \"" + machine.name + "\" does not say its memory_gb",
                 .hint = "give it in a machine file (--machine FILE)"};
  }
  constexpr std::size_t round = 128;
  const double capacity =
      static_cast<double>(machine.memory->value) * (1 - request.memory_headroom);
  const ShapeSearch search{.machine = &machine,
                           .network = &network,
                           .space = {.model = &model,
                                     .request = &request,
                                     .devices = question.devices,
                                     .offload = question.offload},
                           .limits = {.capacity = capacity, .extended = capacity},
                           .count_below = question.step};
  const std::vector<SearchShape> shapes = list_shapes(search.space).shapes;
  const FoundPlans nothing(search.limits);
  PlanRank rank;
  std::int64_t evaluated = 0;
  for (std::size_t begin = 0; begin < shapes.size(); begin += round) {
    const bool stopped = request.stop != nullptr && request.stop->requested();
    if (stopped || evaluated > question.most_evaluations) {
      rank.complete = false;
      break;
    }
    std::vector<ShapeResult> results(std::min(round, shapes.size() - begin),
                                     ShapeResult(search.limits));
    parallel_for(results.size(), request.threads, [&](std::size_t i) {
      search_shape(search, shapes[begin + i], nothing, results[i]);
    });
    for (const ShapeResult& result : results) {
      rank.faster += result.faster;
      evaluated += result.evaluated;
    }
  }
  return rank;
}

}  // namespace stepscope
