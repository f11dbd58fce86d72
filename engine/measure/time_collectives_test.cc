// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/time_collectives.h"

#include <gtest/gtest.h>

#include <thread>

#include "engine/comm/groups/thread_group.h"

namespace stepscope {
namespace {

std::vector<std::vector<CollectiveTiming>> timed(int ranks, const LinkSweep& sweep) {
  auto group = make_thread_group(ranks);
  EXPECT_TRUE(group) << group.error().message();
  std::vector<std::vector<CollectiveTiming>> all(static_cast<std::size_t>(ranks));
  std::vector<std::jthread> threads;
  for (std::size_t r = 0; r < all.size(); ++r)
    threads.emplace_back([&, r] {
      const auto timings = time_collectives(*(*group)[r], sweep);
      EXPECT_TRUE(timings) << timings.error().message();
      if (timings) all[r] = *timings;
    });
  threads.clear();
  return all;
}

TEST(TimeCollectives, EveryRankGetsTheSameTimesOfEverySize) {
  const LinkSweep sweep{.from = Bytes{1000}, .to = Bytes{64000}, .time_a_size = Ns{0}, .least = 3};
  const auto all = timed(3, sweep);
  ASSERT_EQ(all[0].size(), 3U * 7U);  // 1000, 2000, … 64000 of three kinds
  for (std::size_t i = 0; i < all[0].size(); ++i) {
    const CollectiveTiming& t = all[0][i];
    EXPECT_GT(t.time.count(), 0);
    EXPECT_EQ(t.group.size, 3);
    ASSERT_TRUE(t.spread);
    EXPECT_EQ(t.spread->calls, 3U);
    EXPECT_LE(t.spread->low, t.time);
    EXPECT_LE(t.time, t.spread->high);
    EXPECT_LE(t.bytes.value, 64000);
    EXPECT_EQ(t.bytes.value % 12, 0);  // whole elements for each rank
    for (const auto& of_rank : all) {
      EXPECT_EQ(of_rank[i].time, t.time);
      EXPECT_EQ(of_rank[i].spread->high, t.spread->high);
    }
  }
}

TEST(TimeCollectives, AloneThereIsNothingToTime) { EXPECT_TRUE(timed(1, {})[0].empty()); }

}  // namespace
}  // namespace stepscope
