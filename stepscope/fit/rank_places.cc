// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/rank_places.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace stepscope {
namespace {

class Placer {
 public:
  Placer(const RankHosts& hosts, int domain)
      : hosts_(hosts), domain_(domain), of_host_((hosts.most + domain - 1) / domain * domain) {}

  void place(std::vector<int> ranks, RankPlaces& out) const {
    const bool named = domain_ <= most_of_a_host && std::ranges::all_of(ranks, [&](int rank) {
                         return hosts_.of_rank.contains(rank);
                       });
    if (named)
      for (int& rank : ranks) rank = place_on_host(rank);
    else if (!hosts_.given)
      out.assumed = out.assumed || share_a_domain(ranks);
    out.groups.push_back(std::move(ranks));
  }

  [[nodiscard]] bool in_one_domain(const std::vector<int>& places) const {
    const auto [least, most] = std::ranges::minmax(places);
    return least / domain_ == most / domain_;
  }

 private:
  // Not all ranks of a host may be traced: the global rank shows the place if it can.
  [[nodiscard]] int place_on_host(int rank) const {
    const RankHost& host = hosts_.of_rank.at(rank);
    const bool in_order = host.first / domain_ == host.last / domain_;
    return static_cast<int>(host.host) * of_host_ + (in_order ? rank % domain_ : host.place);
  }

  [[nodiscard]] bool share_a_domain(const std::vector<int>& ranks) const {
    std::vector<int> domains = ranks;
    for (int& domain : domains) domain /= domain_;
    std::ranges::sort(domains);
    return std::ranges::adjacent_find(domains) != domains.end();
  }

  const RankHosts& hosts_;
  int domain_;
  int of_host_;  // places
};

}  // namespace

std::optional<RankPlaces> places_of(const CollectiveRow& row, const CollectiveMatches& matches,
                                    int domain, std::optional<int> world_size) {
  const Placer placer(matches.hosts, domain);
  const auto listed = [&](std::uint32_t g) { return matches.groups[g].ranks.size() >= 2; };
  RankPlaces places;
  if (!row.groups.empty() && std::ranges::all_of(row.groups, listed)) {
    for (const std::uint32_t g : row.groups) placer.place(matches.groups[g].ranks, places);
    return places;
  }
  if (!row.group_size || *row.group_size < 2 || !world_size || *row.group_size > *world_size)
    return std::nullopt;
  std::vector<int> world(static_cast<std::size_t>(*world_size));
  std::iota(world.begin(), world.end(), 0);
  placer.place(std::move(world), places);
  std::vector<int>& group = places.groups.front();
  if (*row.group_size < *world_size && !placer.in_one_domain(group)) return std::nullopt;
  group.resize(static_cast<std::size_t>(*row.group_size));
  return places;
}

}  // namespace stepscope
