// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <numeric>
#include <random>
#include <thread>

#include "engine/comm/collectives/collectives_test_cases.h"
#include "engine/comm/groups/thread_group.h"
#include "engine/comm/measured/counting_communicator.h"
#include "engine/comm/measured/jitter_test_communicator.h"
#include "engine/comm/measured/throttle.h"

namespace stepscope {
namespace {

using comm_test::Case;
using comm_test::Running;

using Decorate = std::function<std::unique_ptr<Communicator>(std::unique_ptr<Communicator>)>;

void on_ranks(int ranks, const Decorate& decorate, const std::function<void(Communicator&)>& body) {
  auto group = make_thread_group(ranks, Bytes{64 << 10});
  ASSERT_TRUE(group) << group.error().message();
  std::vector<std::jthread> threads;
  for (auto& plain : *group) {
    plain = decorate(std::move(plain));
    threads.emplace_back([&body, &comm = *plain] { body(comm); });
  }
}

TEST(Jitter, random_delays_and_orders_of_waiting_change_no_bit) {
  for (const int ranks : {2, 3}) {
    const auto cases = comm_test::all_cases({1, 1201}, ranks);
    const auto delayed = [](std::unique_ptr<Communicator> comm) {
      return jitter(std::move(comm), 11, std::chrono::microseconds(300));
    };
    on_ranks(ranks, delayed, [&](Communicator& comm) {
      std::mt19937 random(static_cast<unsigned>(comm.rank()));
      std::deque<Running> runs;
      for (const Case& c : cases) comm_test::start(comm, c, runs.emplace_back());
      std::vector<std::size_t> order(runs.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::shuffle(order, random);
      for (const std::size_t i : order) {
        const auto polled = comm.test(*runs[i].ticket);
        ASSERT_TRUE(polled) << polled.error().message();
        const auto times = comm.wait(*runs[i].ticket);
        ASSERT_TRUE(times) << times.error().message();
        EXPECT_EQ(comm_test::fault_of(comm, runs[i]), "");
      }
    });
  }
}

// S and the bytes on the links, by the formulas of nccl-tests, written independently of the
// product.
std::pair<std::int64_t, double> formula(const Case& c, int ranks) {
  const auto payload = static_cast<std::int64_t>(c.elements * element_bytes(c.type));
  const double n = ranks;
  const auto s = static_cast<double>(payload);
  if (ranks == 1) return {payload, 0};
  switch (c.kind) {
    case CollectiveKind::all_reduce:
      return {payload, s * 2 * (n - 1) / n};
    case CollectiveKind::broadcast:
      return {payload, s};
    case CollectiveKind::barrier:
      return {payload, 0};
    default:  // total n·S
      return {payload, n * s * *busbw_factor(c.kind, ranks)};
  }
}

TEST(Counting, calls_and_bytes_are_the_closed_formulas) {
  int checked = 0;
  for (const int ranks : {1, 2, 3, 4, 7}) {
    const auto cases = comm_test::all_cases({0, 1, 37, 840}, ranks);
    std::vector<CommCounters> counters(static_cast<std::size_t>(ranks));
    const auto counted = [&](std::unique_ptr<Communicator> comm) {
      const auto rank = static_cast<std::size_t>(comm->rank());
      return counting(std::move(comm), counters[rank]);
    };
    on_ranks(ranks, counted, [&](Communicator& comm) {
      CommCounters& own = counters[static_cast<std::size_t>(comm.rank())];
      for (const Case& c : cases) {
        const CommCounters::Kind before = own[c.kind];
        Running run;
        comm_test::start(comm, c, run);
        ASSERT_TRUE(wait_for(comm, run.ticket));
        const auto [payload, sent] = formula(c, ranks);
        const CommCounters::Kind& after = own[c.kind];
        EXPECT_EQ(after.calls, before.calls + 1);
        EXPECT_EQ((after.payload - before.payload).value, payload);
        const auto counted_sent = static_cast<double>((after.sent - before.sent).value);
        const bool whole = sent == std::floor(sent);
        EXPECT_NEAR(counted_sent, sent, whole ? 0 : 0.5);
      }
    });
    checked += static_cast<int>(cases.size());
  }
  EXPECT_EQ(checked, 1000);
}

TEST(Counting, subgroups_count_into_the_same_and_refused_calls_do_not_count) {
  std::vector<CommCounters> counters(3);
  const auto counted = [&](std::unique_ptr<Communicator> comm) {
    const auto rank = static_cast<std::size_t>(comm->rank());
    return counting(std::move(comm), counters[rank]);
  };
  on_ranks(3, counted, [&](Communicator& comm) {
    const std::vector<int> ranks{2, 0};
    auto pair = comm.subgroup(ranks, "pair");
    ASSERT_TRUE(pair) << pair.error().message();
    std::vector<float> data(10);
    EXPECT_FALSE(broadcast(comm, data, 9, "to nobody"));
    if (*pair == nullptr) return;
    ASSERT_TRUE(wait_for(**pair, all_reduce(**pair, data, "two of three")));
  });
  EXPECT_EQ(counters[0][CollectiveKind::all_reduce].sent.value, 40);
  EXPECT_EQ(counters[1][CollectiveKind::all_reduce].calls, 0U);
  EXPECT_EQ(counters[2][CollectiveKind::all_reduce].calls, 1U);
  EXPECT_EQ(counters[0][CollectiveKind::broadcast].calls, 0U);
}

// The time is exact unless this thread was not running when the link became free, so take the best
// of several rounds.
TEST(Throttle, collectives_hold_the_link_one_after_the_other) {
  constexpr Ns alpha = std::chrono::milliseconds(2);
  constexpr ByteRate beta{10e6};
  const auto slow = [&](std::unique_ptr<Communicator> comm) {
    return throttle(std::move(comm), alpha, beta);
  };
  on_ranks(2, slow, [&](Communicator& comm) {
    std::vector<float> a(10'000);  // 40 000 bytes on the link: 4 ms
    std::vector<float> b(5'000);   // 2 ms
    // On a busy machine no call of a round may end in time; the ranks agree to try again.
    bool exact = false;
    for (int round = 0; round < 20 || (!exact && round < 500); ++round) {
      const auto first = all_reduce(comm, a, "a");
      const auto second = all_reduce(comm, b, "b");
      ASSERT_TRUE(first && second);
      const auto second_times = comm.wait(*second);
      const auto first_times = comm.wait(*first);
      ASSERT_TRUE(first_times && second_times);
      const Ns end = *first_times->last_arrival + alpha + std::chrono::milliseconds(4);
      const Ns second_end =
          std::max(end, *second_times->last_arrival) + alpha + std::chrono::milliseconds(2);
      EXPECT_GE(first_times->finished, end);
      EXPECT_GE(second_times->finished, second_end);
      EXPECT_GE(monotonic_now(), second_times->finished);
      const bool in_time = first_times->finished == end && second_times->finished == second_end;
      std::vector<float> ranks_in_time(1, in_time ? 1.0F : 0.0F);
      const auto agreed = all_reduce(comm, ranks_in_time, "ranks in time");
      ASSERT_TRUE(agreed && comm.wait(*agreed));
      exact = exact || ranks_in_time.front() > 0;
    }
    EXPECT_TRUE(exact);
  });
}

TEST(Throttle, a_ticket_is_not_complete_before_its_time_and_answers_stay_right) {
  const auto slow = [](std::unique_ptr<Communicator> comm) {
    return throttle(std::move(comm), std::chrono::microseconds(50), ByteRate{200e6});
  };
  const auto cases = comm_test::all_cases({701}, 3);
  on_ranks(3, slow, [&](Communicator& comm) {
    for (const Case& c : cases) {
      Running run;
      comm_test::start(comm, c, run);
      ASSERT_TRUE(run.ticket);
      for (bool done = false; !done;) {
        const auto polled = comm.test(*run.ticket);
        ASSERT_TRUE(polled) << polled.error().message();
        done = *polled;
        std::this_thread::yield();
      }
      const Ns seen = monotonic_now();
      const auto times = comm.wait(*run.ticket);
      ASSERT_TRUE(times);
      EXPECT_GE(seen, times->finished);
      EXPECT_EQ(comm_test::fault_of(comm, run), "");
    }
  });
}

}  // namespace
}  // namespace stepscope
