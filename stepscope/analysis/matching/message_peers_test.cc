// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/message_peers.h"

#include <gtest/gtest.h>

#include <map>

#include "stepscope/analysis/matching/collective_match.h"
#include "stepscope/analysis/matching/gloo_test_builder.h"

namespace stepscope {
namespace {

constexpr std::string_view members = "[0, 1, 2, 3]";

// Four ranks whose kernels run batches of messages to unknown peers. An exchange has the ranks that
// take part and when it ends; the rank's number shifts its clock by some µs.
class Batches {
 public:
  // With `own_numbers` each record has the number of its own rank.
  explicit Batches(bool own_numbers = false) : ranks_(4), own_numbers_(own_numbers) {
    for (TestRank& rank : ranks_) rank.rows().step("ProfilerStep#1", 0, 1000 * ms);
  }
  void exchange(std::initializer_list<int> ranks, std::int64_t end,
                std::initializer_list<std::string_view> kinds = {"send", "recv"}) {
    for (const int r : ranks) {
      TestRank& rank = ranks_[static_cast<std::size_t>(r)];
      TraceBuilder& rows = rank.rows();
      std::int64_t& at = launched_[r];
      for (const std::string_view kind : kinds) {
        at += 10;
        rank.annotate(rows.row(rows.thread(1), Category::cpu_op, "record_param_comms", at, at + 5),
                      {.name = kind,
                       .group = "pp",
                       .ranks = members,
                       .size = 4,
                       .rank = own_numbers_ ? r : -1});
      }
      rows.launch(++id_, at + 6, at + 8);
      rank.comm(send_recv_kernel, end - ms + r * 1000, end + r * 3000, id_);
    }
  }
  // By rank: the ranks with which its calls have messages, in order.
  std::map<int, std::vector<std::vector<int>>> peers() {
    const TestJob job(std::move(ranks_));
    const CollectiveMatches matches = match_collectives(job.views());
    std::map<int, std::vector<std::vector<int>>> all;
    for (std::size_t v = 0; v < matches.ranks.size(); ++v)
      for (const CollectiveCall& call : matches.ranks[v].calls) {
        std::vector<int>& of_call = all[job.views()[v].rank].emplace_back();
        for (std::uint32_t e = 0; e < call.edge_count; ++e) {
          const P2pEdge& edge = matches.ranks[v].edges[call.first_edge + e];
          of_call.push_back(edge.src == job.views()[v].rank ? edge.dst : edge.src);
        }
      }
    return all;
  }

 private:
  std::vector<TestRank> ranks_;
  bool own_numbers_;
  std::map<int, std::int64_t> launched_;
  std::uint32_t id_ = 0;
};

using Peers = std::vector<std::vector<int>>;

class MessagePeersOfAPipeline : public ::testing::TestWithParam<bool> {};

TEST_P(MessagePeersOfAPipeline, AreTheNeighboursThatEndTogether) {
  Batches batches(GetParam());
  batches.exchange({0, 1}, 10 * ms, {"send"});
  batches.exchange({1, 2}, 20 * ms, {"send"});
  batches.exchange({0, 1}, 25 * ms, {"send"});
  batches.exchange({2, 3}, 30 * ms, {"send"});
  batches.exchange({1, 2}, 33 * ms, {"send"});
  batches.exchange({2, 3}, 40 * ms);
  batches.exchange({1, 2}, 50 * ms);
  batches.exchange({0, 1}, 60 * ms);
  auto peers = batches.peers();
  EXPECT_EQ(peers[0], (Peers{{1}, {1}, {1, 1}}));
  EXPECT_EQ(peers[1], (Peers{{0}, {2}, {0}, {2}, {2, 2}, {0, 0}}));
  EXPECT_EQ(peers[2], (Peers{{1}, {3}, {1}, {3, 3}, {1, 1}}));
  EXPECT_EQ(peers[3], (Peers{{2}, {2, 2}}));
}

INSTANTIATE_TEST_SUITE_P(OwnNumbers, MessagePeersOfAPipeline, ::testing::Bool());

TEST(MessagePeers, OfARingAreTheNextAndTheOneBefore) {
  Batches batches;
  for (int k = 1; k <= 3; ++k) batches.exchange({0, 1, 2, 3}, 10 * k * ms);
  auto peers = batches.peers();
  EXPECT_EQ(peers[0], (Peers{{1, 3}, {1, 3}, {1, 3}}));
  EXPECT_EQ(peers[3], (Peers{{0, 2}, {0, 2}, {0, 2}}));
}

// A call more than a line or a ring has.
TEST(MessagePeers, StayUnknownWhereTheCountsFitNothing) {
  Batches batches;
  batches.exchange({0, 1}, 10 * ms);
  batches.exchange({1, 2}, 20 * ms);
  batches.exchange({2, 3}, 30 * ms);
  batches.exchange({3}, 40 * ms);
  for (const auto& [rank, calls] : batches.peers())
    for (const auto& call : calls) EXPECT_TRUE(call.empty()) << rank;
}

TEST(MessagePeers, StayUnknownWhereTheCallsDoNotEndTogether) {
  Batches batches;
  batches.exchange({0}, 10 * ms);
  batches.exchange({1}, 15 * ms);
  batches.exchange({1, 2}, 20 * ms);
  batches.exchange({2, 3}, 30 * ms);
  batches.exchange({0, 1}, 40 * ms);
  for (const auto& [rank, calls] : batches.peers())
    for (const auto& call : calls) EXPECT_TRUE(call.empty()) << rank;
}

// Two pipelines of two stages, {0, 1} and {2, 3}, or {0, 2} and {1, 3}: four micro-batches forward,
// then four backward. Peers are numbers within the pipeline's group; -1: not recorded.
std::vector<GlooRank> pipelines(bool neighbours, bool numbered) {
  std::vector<GlooRank> ranks(4);
  for (int r = 0; r < 4; ++r) {
    GlooRank& rank = ranks[static_cast<std::size_t>(r)];
    const std::vector<int> row = {r / 2 * 2, r / 2 * 2 + 1};
    const std::vector<int> column = {r % 2, r % 2 + 2};
    rank.group("0", "default_pg", {0, 1, 2, 3});
    rank.group("1", neighbours ? "mesh_pp" : "mesh_dp", row);
    rank.group("2", neighbours ? "mesh_dp" : "mesh_pp", column);
    const int stage = neighbours ? r % 2 : r / 2;
    const int peer = numbered ? 1 - stage : -1;
    const std::int64_t late = (neighbours ? r / 2 : r % 2) * 3 * ms;
    for (int m = 0; m < 4; ++m) {
      const std::int64_t at = (20 * m + 10) * ms + late;
      if (stage == 0)
        rank.message({.sends = true, .peer = peer, .asked = at, .collected = at + 2 * ms});
      else
        rank.message({.sends = false, .peer = peer, .asked = at - 8 * ms, .collected = at + ms});
    }
    for (int m = 0; m < 4; ++m) {
      const std::int64_t at = (20 * m + 110) * ms + late;
      if (stage == 1)
        rank.message({.sends = true, .peer = peer, .asked = at, .collected = at + 2 * ms});
      else
        rank.message({.sends = false, .peer = peer, .asked = at - 8 * ms, .collected = at + ms});
    }
  }
  return ranks;
}

void expect_pipelines(const CollectiveMatches& found, bool neighbours) {
  EXPECT_EQ(found.matched.size(), 16U) << neighbours;
  EXPECT_TRUE(found.unsure.empty());
  for (const MatchedCollective& matched : found.matched) {
    EXPECT_TRUE(matched.complete);
    EXPECT_EQ(found.groups[matched.group].description, "mesh_pp");
    const auto members = found.members_of(matched);
    const std::uint32_t apart = members[1].view - members[0].view;
    EXPECT_EQ(apart, neighbours ? 1U : 2U);
  }
}

TEST(MessageGroups, NumbersAreThoseOfTheGroupWhoseRanksAnswer) {
  for (const bool neighbours : {true, false}) {
    const TestJob job = gloo_job(pipelines(neighbours, true));
    expect_pipelines(match_collectives(job.views()), neighbours);
  }
}

TEST(MessageGroups, WithoutNumbersTheTimesTell) {
  for (const bool neighbours : {true, false}) {
    const TestJob job = gloo_job(pipelines(neighbours, false));
    expect_pipelines(match_collectives(job.views()), neighbours);
  }
}

TEST(MessageGroups, StagesOfALineAreFoundWithoutNumbers) {
  std::vector<GlooRank> ranks(3);
  for (int r = 0; r < 3; ++r) {
    GlooRank& rank = ranks[static_cast<std::size_t>(r)];
    rank.group("0", "default_pg", {0, 1, 2});
    for (int m = 0; m < 3; ++m) {
      const std::int64_t at = (30 * m + 10 * r) * ms;  // its forward begins
      if (r > 0) rank.message({.sends = false, .asked = at - 2 * ms, .collected = at + 1000});
      if (r < 2) rank.message({.asked = at + 10 * ms, .collected = at + 11 * ms});
    }
    for (int m = 0; m < 3; ++m) {
      const std::int64_t at = (200 + 30 * m - 10 * r) * ms;
      if (r < 2) rank.message({.sends = false, .asked = at - 2 * ms, .collected = at + 1000});
      if (r > 0) rank.message({.asked = at + 10 * ms, .collected = at + 11 * ms});
    }
  }
  const TestJob job = gloo_job(std::move(ranks));
  const CollectiveMatches found = match_collectives(job.views());
  EXPECT_EQ(found.matched.size(), 12U);
  EXPECT_TRUE(found.unsure.empty());
  for (const MatchedCollective& matched : found.matched) {
    const auto members = found.members_of(matched);
    EXPECT_EQ(members[1].view - members[0].view, 1U);
  }
}

TEST(MessageGroups, WhereNoGroupFitsThePeerStaysUnknown) {
  std::vector<GlooRank> ranks = pipelines(true, true);
  for (int k = 0; k < 9; ++k)  // nobody receives these
    ranks[0].message(
        {.peer = 1, .asked = (200 + k) * ms, .collected = (300 + k) * ms, .elements = 77});
  const TestJob job = gloo_job(std::move(ranks));
  const CollectiveMatches found = match_collectives(job.views());
  ASSERT_EQ(found.unsure.size(), 1U);
  EXPECT_EQ(found.unsure[0].rank, 0);
  EXPECT_EQ(found.unsure[0].calls, 9U);
  EXPECT_EQ(found.matched.size(), 16U);
}

TEST(MessageGroups, MessagesOfTwoTagsKeepTheirOrderOnlyWithinEach) {
  std::vector<GlooRank> ranks(2);
  for (int k = 0; k < 4; ++k) {
    const std::int64_t at = 10 * k * ms;
    ranks[0].message({.peer = 1, .asked = at, .collected = at + 19 * ms, .tag = k % 2});
    // Tag 1 first.
    ranks[1].message(
        {.sends = false, .peer = 0, .asked = at + ms, .collected = at + 19 * ms, .tag = 1 - k % 2});
  }
  const TestJob job = gloo_job(std::move(ranks));
  const CollectiveMatches found = match_collectives(job.views());
  ASSERT_EQ(found.matched.size(), 4U);
  for (const MatchedCollective& matched : found.matched) {
    const auto members = found.members_of(matched);
    EXPECT_NE(members[0].call, members[1].call);
  }
}

}  // namespace

}  // namespace stepscope
