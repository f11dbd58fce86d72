// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/expectation.h"

#include <algorithm>

namespace stepscope {

Result<Expectation> expect_by_shapes(const JobResult& job, const Machine& machine,
                                     std::optional<int> world_size) {
  Expectation result;
  result.machine = machine.name;
  for (const RankResult& rank : job.ranks) {
    if (rank.recording.shaped_operators == 0) continue;
    auto operators = expected_operators(rank, machine);
    if (!operators) return operators.error();
    for (const std::string& a : operators->assumptions)
      if (std::ranges::find(result.assumptions, a) == result.assumptions.end())
        result.assumptions.push_back(a);
    if (!operators->operators.empty()) result.ranks.push_back(std::move(*operators));
  }
  // A machine without links gives no expectation for collectives.
  if (const auto network = make_network(machine))
    result.collectives = expected_collectives(job.collectives, *network, world_size);
  return result;
}

}  // namespace stepscope
