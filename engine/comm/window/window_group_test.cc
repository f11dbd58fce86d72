// SPDX-License-Identifier: Apache-2.0
// Tests of a group beyond right answers: messages in pairs, subgroups, errors, times.
#include "engine/comm/window/window_group.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>

#include "engine/comm/groups/thread_group.h"
#include "engine/comm/window/window_join.h"

namespace stepscope {
namespace {

using Ranks = std::vector<std::unique_ptr<Communicator>>;

Ranks group_of(int ranks, Bytes bucket = Bytes{64 << 10}) {
  auto group = make_thread_group(ranks, bucket);
  EXPECT_TRUE(group);
  return group ? std::move(*group) : Ranks{};
}

void on_ranks(Ranks& ranks, const std::function<void(Communicator&)>& body) {
  std::vector<std::jthread> threads;
  for (auto& comm : ranks) threads.emplace_back([&body, &comm] { body(*comm); });
}

bool has(const Error& error, const std::string& part) {
  return error.message().find(part) != std::string::npos;
}

TEST(WindowGroup, messages_pass_in_pairs_and_may_be_larger_than_their_ring) {
  for (const int n : {1, 2, 3, 5}) {
    Ranks ranks = group_of(n);
    on_ranks(ranks, [n](Communicator& comm) {
      const int next = (comm.rank() + 1) % n;
      const int before = (comm.rank() + n - 1) % n;
      for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{70'001}}) {
        std::vector<std::int64_t> mine(count, comm.rank());
        std::vector<std::int64_t> theirs(count, -1);
        std::vector<std::int64_t> again(count, -1);
        const auto s = send(comm, mine, next, "ring");
        const auto t = send(comm, mine, next, "ring again");
        const auto r = recv(comm, theirs, before, "ring");
        const auto q = recv(comm, again, before, "ring again");
        ASSERT_TRUE(s && t && r && q);
        EXPECT_EQ(s->sequence + 1, t->sequence);
        for (const auto& ticket : {q, t, r, s}) {
          const auto done = wait_for(comm, ticket);
          ASSERT_TRUE(done) << done.error().message();
        }
        EXPECT_EQ(theirs, std::vector<std::int64_t>(count, before));
        EXPECT_EQ(again, theirs);
      }
    });
  }
}

TEST(WindowGroup, subgroups_are_in_the_order_that_names_them) {
  Ranks ranks = group_of(4);
  on_ranks(ranks, [](Communicator& comm) {
    const std::vector<int> named{3, 0, 1};
    auto made = comm.subgroup(named, "three");
    ASSERT_TRUE(made) << made.error().message();
    if (comm.rank() == 2) {
      EXPECT_EQ(*made, nullptr);
    } else {
      Communicator& three = **made;
      EXPECT_EQ(three.size(), 3);
      EXPECT_EQ(three.name(), "three");
      EXPECT_EQ(named[static_cast<std::size_t>(three.rank())], comm.rank());
      const std::vector<std::int64_t> own{comm.rank()};
      std::vector<std::int64_t> all(3);
      ASSERT_TRUE(wait_for(three, all_gather(three, own, all, "who")));
      EXPECT_EQ(all, (std::vector<std::int64_t>{3, 0, 1}));
    }
    ASSERT_TRUE(wait_for(comm, barrier(comm)));
    EXPECT_FALSE(comm.subgroup(std::vector<int>{0, 0}, "twice"));
    EXPECT_FALSE(comm.subgroup(std::vector<int>{4}, "outside"));
    EXPECT_FALSE(comm.subgroup(std::vector<int>{}, "nobody"));
    const auto differ = comm.subgroup(std::vector<int>{comm.rank() / 2}, "different");
    ASSERT_FALSE(differ);
    EXPECT_TRUE(has(differ.error(), "named different subgroups"));
  });
}

TEST(WindowGroup, wrong_requests_are_refused_and_the_group_lives_on) {
  Ranks ranks = group_of(2);
  on_ranks(ranks, [](Communicator& comm) {
    std::vector<float> three(3);
    std::vector<float> four(4);
    std::vector<std::byte> odd(6);
    EXPECT_FALSE(all_gather(comm, three, four, "three to four"));
    EXPECT_FALSE(reduce_scatter(comm, three, four, "three to four"));
    EXPECT_FALSE(all_to_all(comm, three, three, "odd"));
    EXPECT_FALSE(broadcast(comm, three, 2, "root outside"));
    EXPECT_FALSE(send(comm, three, -1, "peer outside"));
    const std::span<float> whole(four);
    const auto overlap = all_gather(comm, whole.subspan(1, 2), whole, "overlap");
    ASSERT_FALSE(overlap);
    EXPECT_TRUE(has(overlap.error(), "in and out overlap"));
    EXPECT_TRUE(has(overlap.error(), "all_gather \"overlap\" (window/window_group_test.cc:"));
    CollectiveRequest request;
    request.kind = CollectiveKind::all_reduce;
    request.type = ElementType::f32;
    request.in = odd;
    request.out = odd;
    const auto parts = comm.submit(request);
    ASSERT_FALSE(parts);
    EXPECT_TRUE(has(parts.error(), "no whole number of f32 elements"));
    EXPECT_FALSE(comm.test({0, -1}));
    EXPECT_FALSE(comm.wait({7, 2}));
    ASSERT_TRUE(wait_for(comm, all_reduce(comm, three, "right")));
  });
}

TEST(WindowGroup, different_collectives_fail_at_all_ranks_for_good) {
  Ranks ranks = group_of(3);
  on_ranks(ranks, [](Communicator& comm) {
    std::vector<float> data(8);
    const auto ticket = comm.rank() == 2 ? all_reduce(comm, data, "other", Reduction::max)
                                         : all_reduce(comm, data, "ours");
    const auto done = wait_for(comm, ticket);
    ASSERT_FALSE(done);
    EXPECT_TRUE(has(done.error(), "all_reduce #0 of 32 bytes of f32 sum \"ours\""))
        << done.error().message();
    EXPECT_TRUE(has(done.error(), "all_reduce #0 of 32 bytes of f32 max \"other\""))
        << done.error().message();
    const auto later = barrier(comm);
    ASSERT_FALSE(later);
    EXPECT_EQ(later.error().message(), done.error().message());
  });
}

TEST(WindowGroup, two_roots_of_a_broadcast_are_a_mismatch) {
  Ranks ranks = group_of(2);
  on_ranks(ranks, [](Communicator& comm) {
    std::vector<float> data(8);
    const auto done = wait_for(comm, broadcast(comm, data, comm.rank(), "mine"));
    ASSERT_FALSE(done);
    EXPECT_TRUE(has(done.error(), "from rank 1")) << done.error().message();
  });
}

TEST(WindowGroup, a_rank_that_left_is_named_but_what_it_staged_still_counts) {
  Ranks ranks = group_of(2);
  std::vector<float> zero(4, 1.0F);
  std::vector<float> one(4, 2.0F);
  {
    const auto ticket = all_reduce(*ranks[1], one, "last");
    ASSERT_TRUE(ticket);
    const auto mine = all_reduce(*ranks[0], zero, "last");
    ASSERT_TRUE(ranks[1]->wait(*ticket));
    ranks[1].reset();
    ASSERT_TRUE(wait_for(*ranks[0], mine));
    EXPECT_EQ(zero[3], 3.0F);
  }
  const auto done = wait_for(*ranks[0], barrier(*ranks[0], "alone"));
  ASSERT_FALSE(done);
  EXPECT_TRUE(has(done.error(), "rank 1 left the group")) << done.error().message();
}

TEST(WindowGroup, nothing_moving_ends_wait_and_test_at_the_deadline) {
  for (const bool polls : {false, true}) {
    Ranks ranks = group_of(2);
    ranks[0]->set_deadline(std::chrono::milliseconds(60));
    const auto ticket = barrier(*ranks[0], "lonely");
    ASSERT_TRUE(ticket);
    std::string message;
    while (message.empty()) {
      if (polls) {
        const auto polled = ranks[0]->test(*ticket);
        if (!polled) message = polled.error().message();
      } else {
        const auto done = ranks[0]->wait(*ticket);
        ASSERT_FALSE(done);
        message = done.error().message();
      }
    }
    EXPECT_NE(message.find("rank 0 in barrier #0 \"lonely\""), std::string::npos) << message;
    EXPECT_NE(message.find("rank 1 has not come; it has called nothing yet"), std::string::npos);
    // The other rank gets the error when it comes.
    const auto late = barrier(*ranks[1], "late");
    ASSERT_TRUE(late);
    EXPECT_TRUE(ranks[1]->wait(*late));
    const auto next = wait_for(*ranks[1], barrier(*ranks[1], "next"));
    ASSERT_FALSE(next);
    EXPECT_TRUE(has(next.error(), "rank 0 gave up")) << next.error().message();
  }
}

TEST(WindowGroup, times_tell_when_the_last_rank_came) {
  Ranks ranks = group_of(2);
  on_ranks(ranks, [](Communicator& comm) {
    if (comm.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const Ns before = monotonic_now();
    const auto times = wait_for(comm, barrier(comm));
    ASSERT_TRUE(times && times->last_arrival);
    EXPECT_LE(before, times->submitted);
    EXPECT_LE(times->submitted, *times->last_arrival);
    EXPECT_LE(*times->last_arrival, times->finished);
    if (comm.rank() == 1) {
      EXPECT_EQ(times->submitted, *times->last_arrival);
    }
  });
}

TEST(WindowGroup, more_unfinished_collectives_than_are_kept_are_refused) {
  Ranks ranks = group_of(2);
  Result<Ticket> ticket = Ticket{};
  int accepted = 0;
  while ((ticket = barrier(*ranks[0]))) ++accepted;
  EXPECT_EQ(accepted, 512);
  EXPECT_TRUE(has(ticket.error(), "512 unfinished collectives"));
}

// Rank 2 never comes: one rank says it, and the other has the code of a rank that need not.
TEST(WindowGroup, one_rank_says_why_a_group_did_not_form) {
  auto window = comm::Window::create(comm::window_shape(5, Bytes{64 << 10}));
  ASSERT_TRUE(window);
  std::array<std::optional<Error>, 2> errors;
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < 2; ++rank)
      threads.emplace_back([&, rank] {
        auto joined = comm::join_window(*window, rank, "world", std::chrono::milliseconds(50));
        if (!joined) errors[static_cast<std::size_t>(rank)] = joined.error();
      });
  }
  ASSERT_TRUE(errors[0] && errors[1]);
  const bool first = errors[0]->code == ErrorCode::failed;
  EXPECT_EQ(errors[first ? 1 : 0]->code, ErrorCode::other_rank);
  const Error& said = *errors[first ? 0 : 1];
  EXPECT_EQ(said.code, ErrorCode::failed);
  EXPECT_TRUE(has(said, "rank 2 and 2 others of 5 did not come within the deadline"))
      << said.message();
}

TEST(WindowGroup, a_group_that_cannot_be_is_an_error) {
  EXPECT_FALSE(make_thread_group(0));
  EXPECT_FALSE(make_thread_group(most_sharing_ranks + 1));
  const auto large = make_thread_group(2, Bytes{std::int64_t{1} << 50});
  ASSERT_FALSE(large);
  EXPECT_TRUE(has(large.error(), "no room for"));
}

}  // namespace
}  // namespace stepscope
