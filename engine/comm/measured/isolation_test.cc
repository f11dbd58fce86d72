// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/measured/isolation.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "engine/comm/groups/thread_group.h"
#include "engine/comm/measured/counting_communicator.h"

namespace stepscope {
namespace {

void run_ranks(const std::function<void(Isolation&, CommCounters&)>& rank) {
  auto group = make_thread_group(2);
  ASSERT_TRUE(group);
  std::vector<std::jthread> threads;
  for (auto& comm : *group) {
    threads.emplace_back([&rank, own = std::move(comm)]() mutable {
      CommCounters counters;
      Isolation isolation(counting(std::move(own), counters));
      rank(isolation, counters);
    });
  }
}

TEST(Isolation, LeavesCollectivesOutAndTheirBuffersAlone) {
  run_ranks([](Isolation& comm, CommCounters& counters) {
    std::vector<float> mine = {1, 2};
    std::vector<float> all = {3, 4, 5, 6};
    comm.leave_out(true);
    const auto first = all_gather(comm, mine, all, "gathered");
    const auto second = all_reduce(comm, mine, "summed");
    ASSERT_TRUE(first);
    ASSERT_TRUE(second);
    EXPECT_NE(first->sequence, second->sequence);
    EXPECT_TRUE(*comm.test(*second));
    EXPECT_TRUE(comm.wait(*first));
    EXPECT_EQ(mine, (std::vector<float>{1, 2}));
    EXPECT_EQ(all, (std::vector<float>{3, 4, 5, 6}));
    EXPECT_EQ(counters[CollectiveKind::all_gather].calls, 0U);
    comm.leave_out(false);
    ASSERT_TRUE(wait_for(comm, all_reduce(comm, mine, "summed")));
    EXPECT_EQ(mine, (std::vector<float>{2, 4}));
  });
}

// A step that ends before its last collective is complete, and begins with the wait for the
// previous step's last collective.
TEST(Isolation, RepeatsWhatAStepAskedFor) {
  run_ranks([](Isolation& comm, CommCounters& counters) {
    std::vector<float> large(4096, 1.0F);
    std::vector<float> gathered(8192);
    Ticket left{};
    const auto step = [&](bool first) {
      if (!first) {
        ASSERT_TRUE(comm.wait(left));
      }
      std::array<double, 1> passing = {1};  // gone when the script is repeated
      ASSERT_TRUE(wait_for(comm, all_reduce(comm, passing, "loss")));
      EXPECT_EQ(passing[0], 2);
      const auto reduced = all_reduce(comm, large, "gradients");
      const auto ticket = all_gather(comm, large, gathered, "parameters");
      ASSERT_TRUE(reduced);
      ASSERT_TRUE(ticket);
      ASSERT_TRUE(comm.wait(*reduced));
      left = *ticket;
    };
    step(true);
    comm.record();
    step(false);
    const CollectiveScript script = comm.taken();
    ASSERT_TRUE(comm.wait(left));
    EXPECT_EQ(script.submissions(), 3U);
    EXPECT_EQ(script.requests()[1].in.data(), std::as_bytes(std::span(large)).data());
    EXPECT_EQ(script.requests()[0].in.data(), script.requests()[0].out.data());
    counters = {};
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(comm.replay(script));
    ASSERT_TRUE(comm.finish_replay());
    EXPECT_EQ(counters[CollectiveKind::all_reduce].calls, 6U);
    EXPECT_EQ(counters[CollectiveKind::all_gather].calls, 3U);
    EXPECT_EQ(counters[CollectiveKind::all_gather].payload.value, 3 * 4096 * 4);
    EXPECT_EQ(large[4095], 32.0F);  // summed in place five times over two ranks
    step(true);
    ASSERT_TRUE(comm.wait(left));
  });
}

}  // namespace
}  // namespace stepscope
