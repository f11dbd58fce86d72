// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/rank_places.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace stepscope {
namespace {

using PlaceList = std::vector<int>;

// A group of ranks; `hosts` by rank, an empty name for a rank that is not traced.
struct PlacedGroup {
  CollectiveMatches matches;
  CollectiveRow row;

  PlacedGroup(PlaceList ranks, const std::vector<std::string>& hosts) {
    matches.groups.push_back({.name = "g", .description = {}, .ranks = std::move(ranks)});
    row.groups = {0};
    std::map<std::string, RankHost> rows;
    for (int rank = 0; rank < static_cast<int>(hosts.size()); ++rank) {
      const std::string& name = hosts[static_cast<std::size_t>(rank)];
      if (name.empty()) continue;
      RankHost& host =
          rows.try_emplace(name, static_cast<std::uint32_t>(rows.size()), 0, rank).first->second;
      host.last = rank;
      matches.hosts.of_rank[rank] = host;
      matches.hosts.most = std::max(matches.hosts.most, ++host.place);
    }
    for (auto& [rank, host] : matches.hosts.of_rank)
      host.last = rows.at(hosts[static_cast<std::size_t>(rank)]).last;
  }
  // The domain of each rank.
  [[nodiscard]] PlaceList domains(int domain, std::optional<int> world = {}) const {
    const auto places = places_of(row, matches, domain, world);
    PlaceList out = places ? places->groups.front() : PlaceList();
    for (int& place : out) place /= domain;
    return out;
  }
  [[nodiscard]] bool assumed(int domain) const {
    return places_of(row, matches, domain, std::nullopt)->assumed;
  }
};

TEST(RankPlaces, AreOnTheHostsOfTheTraces) {
  const PlacedGroup apart({0, 1}, {"a", "b"});
  EXPECT_EQ(apart.domains(8), (PlaceList{0, 1}));
  EXPECT_FALSE(apart.assumed(8));
  const PlacedGroup four({0, 1, 2, 3, 4, 5, 6, 7}, {"a", "a", "a", "a", "b", "b", "b", "b"});
  EXPECT_EQ(four.domains(8), (PlaceList{0, 0, 0, 0, 1, 1, 1, 1})) << "hosts of half a domain";
  EXPECT_EQ(four.domains(2), (PlaceList{0, 0, 1, 1, 2, 2, 3, 3})) << "two domains a host";
  const PlacedGroup in_turns({0, 1, 2, 3}, {"a", "b", "a", "b"});
  EXPECT_EQ(in_turns.domains(8), (PlaceList{0, 1, 0, 1}));
  EXPECT_EQ(in_turns.domains(2), (PlaceList{0, 1, 0, 1})) << "not in the order of the ranks";
}

TEST(RankPlaces, OfAHostKeepTheOrderOfItsRanksIfSomeAreNotTraced) {
  const PlacedGroup some({0, 7}, {"a", "", "", "", "", "", "", "a"});
  EXPECT_EQ(places_of(some.row, some.matches, 8, 8)->groups.front(), (PlaceList{0, 7}));
}

TEST(RankPlaces, AreAssumedWithoutHosts) {
  const PlacedGroup unknown({0, 1}, {});
  EXPECT_EQ(unknown.domains(8), (PlaceList{0, 0}));
  EXPECT_TRUE(unknown.assumed(8));
  EXPECT_FALSE(unknown.assumed(1)) << "no two of them share a domain";
  EXPECT_TRUE(PlacedGroup({0, 1}, {"a"}).assumed(8)) << "one of two is traced";
  PlacedGroup given({0, 1}, {});
  given.matches.hosts.given = true;
  EXPECT_FALSE(given.assumed(8));
}

TEST(RankPlaces, DomainsOfARackSpanHosts) {
  const PlacedGroup rack({0, 4}, {"a", "a", "a", "a", "b"});
  EXPECT_EQ(rack.domains(72), (PlaceList{0, 0}));
  EXPECT_TRUE(rack.assumed(72)) << "both may be in different racks";
}

TEST(RankPlaces, OfGroupsWithoutAListFollowFromTheHostsOfTheJob) {
  PlacedGroup unlisted({}, {"a", "b"});
  unlisted.row.group_size = 2;
  EXPECT_EQ(unlisted.domains(8, 2), (PlaceList{0, 1})) << "the whole job";
  PlacedGroup part({}, {"a", "a", "b", "b"});
  part.row.group_size = 2;
  EXPECT_FALSE(places_of(part.row, part.matches, 8, 4)) << "which two, decides";
  PlacedGroup one({}, {"a", "a", "a", "a"});
  one.row.group_size = 2;
  EXPECT_EQ(one.domains(8, 4), (PlaceList{0, 0}));
}

}  // namespace
}  // namespace stepscope
