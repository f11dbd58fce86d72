// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/collective_link.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

using Kind = CollectiveKind;

// Nodes of 4 devices; 400 GB/s within a node, 25 GB/s per device between nodes.
Machine box() {
  Machine m;
  ScaleUp& up = m.scale_up.emplace();
  up.per_direction = ByteRate{400e9};
  up.domain = 4;
  m.scale_out.emplace().per_direction = ByteRate{25e9};
  return m;
}

// GB/s; -1 if unknown.
double link(Kind kind, const std::vector<std::vector<int>>& groups,
            std::optional<int> world_size = std::nullopt, std::optional<int> group_size = {}) {
  CollectiveRow row;
  row.kind = kind;
  row.group_size = group_size;
  CollectiveMatches matches;
  for (const auto& ranks : groups) {
    row.groups.push_back(static_cast<std::uint32_t>(matches.groups.size()));
    matches.groups.push_back({.name = "g", .description = {}, .ranks = ranks});
  }
  const auto rate = link_of(box(), row, matches, world_size);
  return rate ? rate->value / 1e9 : -1;
}

TEST(CollectiveLink, PlacementTellsWhichLinkAGroupUses) {
  EXPECT_EQ(link(Kind::all_reduce, {{0, 1, 2, 3}}), 400);
  EXPECT_EQ(link(Kind::all_reduce, {{4, 5}}, 64, 2), 400) << "within a node of a larger job";
  EXPECT_EQ(link(Kind::all_reduce, {{3, 4}}), 25) << "neighbours on two nodes";
  EXPECT_EQ(link(Kind::all_reduce, {{0, 4, 8, 12}}), 25);
  EXPECT_EQ(link(Kind::all_reduce, {{0, 1, 4, 5}}), 50) << "two ports a node";
}

TEST(CollectiveLink, GroupsOfOneRowMustAgree) {
  EXPECT_EQ(link(Kind::all_reduce, {{0, 1}, {2, 3}, {4, 5}}), 400);
  EXPECT_EQ(link(Kind::all_reduce, {{0, 1}, {3, 4}}), -1);
}

TEST(CollectiveLink, SizesTellWhereAGroupsRanksAreNotListed) {
  EXPECT_EQ(link(Kind::all_reduce, {{}}, 4, 2), 400) << "one node";
  EXPECT_EQ(link(Kind::all_reduce, {{}}, 8, 8), 100) << "the whole world";
  EXPECT_EQ(link(Kind::all_reduce, {{}}, 8, 2), -1);
  EXPECT_EQ(link(Kind::all_reduce, {{0, 1}, {}}, 8, 2), -1) << "one of two is listed";
  EXPECT_EQ(link(Kind::all_reduce, {}, 4, 2), 400) << "no group recorded";
  EXPECT_EQ(link(Kind::all_reduce, {{}}, std::nullopt, 2), -1);
}

TEST(CollectiveLink, AMessageUsesTheLinkOfItsPair) {
  EXPECT_EQ(link(Kind::send_recv, {{0, 4, 8, 12}}), 25);
  EXPECT_EQ(link(Kind::send_recv, {{0, 1, 2}}), 400);
  EXPECT_EQ(link(Kind::send_recv, {{0, 2, 4, 6}}), -1) << "some pairs lie within a node";
}

TEST(CollectiveLink, AnAllToAllSendsAllForOtherNodesThroughTheDevicesOwnPort) {
  EXPECT_EQ(link(Kind::all_to_all, {{0, 1, 2, 3}}), 400);
  EXPECT_EQ(link(Kind::all_to_all, {{0, 4}}), 25);
  // Each of 8 ranks sends 4 of 7 parts to the other node.
  EXPECT_DOUBLE_EQ(link(Kind::all_to_all, {{0, 1, 2, 3, 4, 5, 6, 7}}), 25.0 * 7 / 4);
  // The single device on its node sends everything.
  EXPECT_DOUBLE_EQ(link(Kind::all_to_all, {{0, 1, 2, 3, 4}}), 25);
}

TEST(CollectiveLink, IsUnknownWhereTheMachineDoesNotSay) {
  Machine m = box();
  CollectiveRow row;
  row.kind = Kind::all_to_all;
  row.groups = {0};
  CollectiveMatches matches;
  matches.groups = {{.name = "g", .description = {}, .ranks = {0, 1, 2, 3, 4, 5, 6, 7}}};
  m.scale_out.reset();
  EXPECT_FALSE(link_of(m, row, matches, 8));
  m.scale_up.reset();
  EXPECT_FALSE(link_of(m, row, matches, 8));
}

}  // namespace
}  // namespace stepscope
