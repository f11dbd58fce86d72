// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/rows/group_members.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace stepscope {
namespace {

using Ranks = std::vector<int>;

Metadata with(const std::vector<ProcessGroup>& groups, const std::string& places) {
  Metadata metadata;
  metadata.groups = groups;
  metadata.texts["group_places"] = places;
  return metadata;
}

ProcessGroup group(const std::string& name, int size, const Ranks& ranks = {}) {
  ProcessGroup g;
  g.name = name;
  g.size = size;
  g.ranks = ranks;
  return g;
}

TEST(GroupMembers, AGroupWhoseMembersAreAllHereIsListedInItsOrder) {
  std::array<Metadata, 4> m = {with({group("a", 2), group("w", 4)}, R"({"a":1,"w":0})"),
                               with({group("b", 2), group("w", 4)}, R"({"b":0,"w":1})"),
                               with({group("a", 2), group("w", 4)}, R"({"a":0,"w":2})"),
                               with({group("b", 2), group("w", 4)}, R"({"b":1,"w":3})")};
  const std::array<Metadata*, 4> of = {&m[0], &m[1], &m[2], &m[3]};
  complete_groups(std::array{4, 5, 6, 7}, of);
  for (const Metadata& one : m) {
    EXPECT_EQ(one.groups[1].ranks, (Ranks{4, 5, 6, 7}));
    EXPECT_TRUE(one.texts.empty());
  }
  EXPECT_EQ(m[0].groups[0].ranks, (Ranks{6, 4}));
  EXPECT_EQ(m[2].groups[0].ranks, (Ranks{6, 4}));
  EXPECT_EQ(m[3].groups[0].ranks, (Ranks{5, 7}));
}

TEST(GroupMembers, AMissingMemberAContradictionAndAKnownListAreLeftAlone) {
  std::array<Metadata, 2> m = {
      with({group("missing", 3), group("twice", 2), group("listed", 2, {8, 9})},
           R"({"missing":0,"twice":1,"listed":0})"),
      with({group("missing", 3), group("twice", 2), group("listed", 2)},
           R"({"missing":1,"twice":1,"listed":7})")};
  const std::array<Metadata*, 2> of = {&m[0], &m[1]};
  complete_groups(std::array{0, 1}, of);
  EXPECT_TRUE(m[0].groups[0].ranks.empty());
  EXPECT_TRUE(m[0].groups[1].ranks.empty());
  EXPECT_EQ(m[0].groups[2].ranks, (Ranks{8, 9}));
  EXPECT_TRUE(m[1].groups[2].ranks.empty());  // its index is not in the group
}

TEST(GroupMembers, PlacesThatAreNoneAreIgnored) {
  for (const char* text : {"", "3", R"({"a":"0"})", R"({"a":-1})", "{"}) {
    Metadata m = with({group("a", 1)}, text);
    const std::array<Metadata*, 1> of = {&m};
    complete_groups(std::array{0}, of);
    EXPECT_TRUE(m.groups[0].ranks.empty()) << text;
  }
}

}  // namespace
}  // namespace stepscope
