// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/ranks/roles.h"

#include <algorithm>
#include <map>
#include <set>

#include "stepscope/analysis/ranks/pipeline_bubble.h"

namespace stepscope {
namespace {

struct Place {
  std::optional<int> tp;
  std::optional<int> pp;
};

std::optional<int> position(const CommGroup& group, int rank) {
  const auto place = group.place_of(rank);
  return group.ranks.size() > 1 && place ? std::optional(static_cast<int>(*place)) : std::nullopt;
}

std::optional<std::vector<Place>> from_groups(std::span<const RankView> views,
                                              const CollectiveMatches& matches,
                                              std::span<const Dimension> dimension_of) {
  std::vector<Place> places(views.size());
  const Pipelines pipelines = find_pipelines(views, matches, dimension_of);
  bool any = false;
  for (std::size_t v = 0; v < views.size(); ++v) {
    if (pipelines.of_view[v]) places[v].pp = pipelines.of_view[v]->stage;
    for (std::size_t g = 0; g < matches.groups.size() && !places[v].tp; ++g)
      if (dimension_of[g] == Dimension::tp)
        places[v].tp = position(matches.groups[g], views[v].rank);
    any = any || places[v].tp || places[v].pp;
  }
  if (!any) return std::nullopt;
  return places;
}

std::vector<Place> from_sizes(std::span<const RankView> views, std::optional<int> world,
                              const ParallelSizes& sizes) {
  const int tp = sizes.tp.value_or(1);
  const int pp = sizes.pp.value_or(1);
  std::vector<Place> places(views.size());
  if (tp < 1 || pp < 1) return places;
  for (std::size_t v = 0; v < views.size(); ++v) {
    if (tp > 1) places[v].tp = views[v].rank % tp;
    const int stage = world && *world >= pp ? *world / pp : 0;
    if (pp > 1 && stage > 0) places[v].pp = views[v].rank / stage;
  }
  return places;
}

std::string text_of(const Place& place, bool with_tp) {
  std::string text;
  if (with_tp && place.tp) text = "tp" + std::to_string(*place.tp);
  if (place.pp) {
    if (!text.empty()) text += '.';
    text += "pp" + std::to_string(*place.pp);
  }
  return text.empty() ? "all" : text;
}

Roles texts_of(std::span<const Place> places, bool with_tp) {
  Roles texts;
  for (const Place& place : places) texts.push_back(text_of(place, with_tp));
  return texts;
}

bool all_have_company(std::span<const RankView> views, const Roles& roles) {
  std::map<std::string, std::set<int>> ranks;
  for (std::size_t v = 0; v < views.size(); ++v) ranks[roles[v]].insert(views[v].rank);
  return std::ranges::all_of(ranks, [](const auto& role) { return role.second.size() > 1; });
}

}  // namespace

std::optional<int> ParallelSizes::world_size() const {
  if (!dp) return std::nullopt;
  return tp.value_or(1) * pp.value_or(1) * *dp;
}

std::vector<CommGroup> groups_of_sizes(const ParallelSizes& sizes, int world) {
  const int tp = sizes.tp.value_or(1);
  const int pp = sizes.pp.value_or(1);
  const bool given = sizes.tp || sizes.pp || sizes.dp;
  if (!given || tp < 1 || pp < 1 || world < 1 || world % (tp * pp) != 0) return {};
  const int dp = world / (tp * pp);
  if (sizes.dp.value_or(dp) != dp) return {};
  std::vector<CommGroup> groups;
  const auto add = [&](std::string_view dimension, int first, int count, int stride) {
    if (count < 2) return;
    CommGroup& group = groups.emplace_back();
    group.description = dimension;
    group.size = count;
    for (int i = 0; i < count; ++i) group.ranks.push_back(first + i * stride);
    group.name = group.description + std::to_string(first);
  };
  if (std::max({tp, pp, dp}) < world) add("world", 0, world, 1);
  for (int rank = 0; rank < world; ++rank) {
    const int stage = rank / (tp * dp);
    if (rank % tp == 0) add("tp", rank, tp, 1);
    if (rank / tp % dp == 0) add("dp", rank, dp, tp);
    if (stage == 0) add("pp", rank, pp, tp * dp);
  }
  return groups;
}

Roles find_roles(std::span<const RankView> views, const CollectiveMatches& matches,
                 std::span<const Dimension> dimension_of, const ParallelSizes& sizes) {
  auto places = from_groups(views, matches, dimension_of);
  if (!places) {
    const auto world = sizes.world_size();
    places = from_sizes(views, world ? world : matches.world_size, sizes);
  }
  Roles roles = texts_of(*places, true);
  return all_have_company(views, roles) ? roles : texts_of(*places, false);
}

}  // namespace stepscope
