// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/groups/thread_group.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <numeric>
#include <random>
#include <thread>

#include "engine/comm/collectives/collectives_test_cases.h"

namespace stepscope {
namespace {

using comm_test::Case;
using comm_test::Running;

constexpr Bytes small_bucket{64 << 10};  // 16 buckets of 4 KiB

void on_ranks(int ranks, Bytes bucket, const std::function<void(Communicator&)>& body) {
  auto group = make_thread_group(ranks, bucket);
  ASSERT_TRUE(group) << group.error().message();
  std::vector<std::jthread> threads;
  for (auto& comm : *group) {
    comm->set_deadline(std::chrono::seconds(60));
    threads.emplace_back([&body, &comm] { body(*comm); });
  }
}

class ThreadGroup : public testing::TestWithParam<int> {};

TEST_P(ThreadGroup, every_collective_type_and_size_has_the_bits_of_a_plain_loop_in_rank_order) {
  const auto cases = comm_test::all_cases({0, 1, 37, 2999}, GetParam());
  on_ranks(GetParam(), small_bucket, [&](Communicator& comm) {
    for (const Case& c : cases) {
      Running run;
      comm_test::start(comm, c, run);
      const auto times = wait_for(comm, run.ticket);
      ASSERT_TRUE(times) << times.error().message();
      ASSERT_LE(times->submitted, times->finished);
      EXPECT_EQ(comm_test::fault_of(comm, run), "");
    }
  });
}

TEST_P(ThreadGroup, messages_larger_than_the_ring_pass_through_it) {
  const auto cases = comm_test::all_cases({23'003}, GetParam());
  on_ranks(GetParam(), small_bucket, [&](Communicator& comm) {
    for (const Case& c : cases) {
      if (c.type != ElementType::f32 && c.type != ElementType::bf16) continue;
      if (c.reduction != Reduction::sum) continue;
      Running run;
      comm_test::start(comm, c, run);
      const auto times = wait_for(comm, run.ticket);
      ASSERT_TRUE(times) << times.error().message();
      EXPECT_EQ(comm_test::fault_of(comm, run), "");
    }
  });
}

TEST(LongMessages, past_the_caches_have_the_same_bits) {
  for (const int ranks : {2, 3}) {
    const auto cases = comm_test::all_cases({280'003}, ranks);
    on_ranks(ranks, default_bucket, [&](Communicator& comm) {
      for (const Case& c : cases) {
        if (c.type != ElementType::f32 || c.reduction != Reduction::sum) continue;
        Running run;
        comm_test::start(comm, c, run);
        const auto times = wait_for(comm, run.ticket);
        ASSERT_TRUE(times) << times.error().message();
        EXPECT_EQ(comm_test::fault_of(comm, run), "");
      }
    });
  }
}

TEST_P(ThreadGroup, ranks_may_wait_in_different_orders_with_many_tickets_out) {
  const int ranks = GetParam();
  on_ranks(ranks, small_bucket, [&](Communicator& comm) {
    std::mt19937 random(static_cast<unsigned>(comm.rank()) + 17);
    for (int round = 0; round < 6; ++round) {
      auto cases = comm_test::all_cases({static_cast<std::size_t>(round * round * 211)}, ranks);
      std::deque<Running> runs;
      for (std::size_t i = 0; i < cases.size(); i += 3) {
        comm_test::start(comm, cases[i], runs.emplace_back());
      }
      std::vector<std::size_t> order(runs.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::shuffle(order, random);
      for (const std::size_t i : order) {
        const auto times = wait_for(comm, runs[i].ticket);
        ASSERT_TRUE(times) << times.error().message();
        EXPECT_EQ(comm_test::fault_of(comm, runs[i]), "");
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, ThreadGroup, testing::Values(1, 2, 3, 4, 5, 7));

}  // namespace
}  // namespace stepscope
