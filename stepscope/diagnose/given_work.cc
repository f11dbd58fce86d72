// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/given_work.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "stepscope/diagnose/thresholds.h"

namespace stepscope {

bool knows_work(const RankResult& rank) {
  if (!rank.work.executed.any_shapes) return false;
  double known = 0;
  double unknown = 0;
  for (const ExecutedStep& s : rank.work.executed.steps) {
    known += static_cast<double>(s.time().count());
    unknown += static_cast<double>(s.unknown_time().count());
  }
  return known > 0 && unknown < threshold::most_without_shapes * (known + unknown);
}

std::optional<double> given_work(const JobResult& job, std::span<const int> ranks) {
  const RankResult* first = ranks.empty() ? nullptr : find_rank(job.ranks, ranks.front());
  if (first == nullptr) return std::nullopt;
  struct Sums {
    double given = 0;
    double of_peers = 0;
    std::size_t count = 0;
  };
  std::map<std::int64_t, Sums> steps;
  std::size_t named = 0;
  std::size_t members = 0;
  for (const RankResult& r : job.ranks) {
    if (r.role != first->role) continue;
    if (!knows_work(r)) return std::nullopt;
    const bool is_named = std::ranges::find(ranks, r.rank) != ranks.end();
    ++members;
    if (is_named) ++named;
    for (const ExecutedStep& s : r.work.executed.steps) {
      Sums& sums = steps[s.index];
      (is_named ? sums.given : sums.of_peers) += s.flops().value;
      ++sums.count;
    }
  }
  if (named != ranks.size() || members == named) return std::nullopt;
  Sums all;
  for (const auto& [index, sums] : steps) {
    if (sums.count != members) continue;
    all.given += sums.given / static_cast<double>(named);
    all.of_peers += sums.of_peers / static_cast<double>(members - named);
  }
  return all.of_peers > 0 ? std::optional(all.given / all.of_peers) : std::nullopt;
}

}  // namespace stepscope
