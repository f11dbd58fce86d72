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

}  // namespace
}  // namespace stepscope
