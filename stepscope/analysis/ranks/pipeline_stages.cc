// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/ranks/pipeline_stages.h"

#include <algorithm>
#include <set>

namespace stepscope {
namespace {

struct Joined {
  std::set<int> ranks;
  const std::vector<int>* largest = nullptr;
};

// Sets of ranks connected by groups of the pipeline dimension.
std::vector<Joined> join_groups_of(const CollectiveMatches& matches,
                                   std::span<const Dimension> dimension_of) {
  std::vector<Joined> all;
  for (std::size_t g = 0; g < matches.groups.size() && g < dimension_of.size(); ++g) {
    const std::vector<int>& ranks = matches.groups[g].ranks;
    if (dimension_of[g] != Dimension::pp || ranks.size() < 2) continue;
    Joined joined{.ranks = {ranks.begin(), ranks.end()}, .largest = &ranks};
    std::erase_if(all, [&](const Joined& other) {
      const bool shared =
          std::ranges::any_of(ranks, [&](int r) { return other.ranks.contains(r); });
      if (!shared) return false;
      joined.ranks.insert(other.ranks.begin(), other.ranks.end());
      if (other.largest->size() >= joined.largest->size()) joined.largest = other.largest;
      return true;
    });
    all.push_back(std::move(joined));
  }
  return all;
}

}  // namespace

std::optional<int> Pipelines::stage_of(std::uint32_t pipeline, int rank) const {
  const auto at = std::ranges::find(ranks[pipeline], rank);
  if (at == ranks[pipeline].end()) return std::nullopt;
  return static_cast<int>(at - ranks[pipeline].begin());
}

Pipelines find_pipelines(std::span<const RankView> views, const CollectiveMatches& matches,
                         std::span<const Dimension> dimension_of) {
  Pipelines found;
  for (const Joined& joined : join_groups_of(matches, dimension_of)) {
    if (joined.largest->size() == joined.ranks.size())
      found.ranks.push_back(*joined.largest);
    else
      found.ranks.emplace_back(joined.ranks.begin(), joined.ranks.end());
  }
  std::ranges::sort(found.ranks);
  for (const RankView& view : views) {
    auto& place = found.of_view.emplace_back();
    for (std::uint32_t p = 0; p < found.ranks.size() && !place; ++p)
      if (const auto stage = found.stage_of(p, view.rank)) place = PipelinePlace{p, *stage};
  }
  return found;
}

}  // namespace stepscope
