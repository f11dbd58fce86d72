// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/measured/clock_offset.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "engine/comm/groups/thread_group.h"

namespace stepscope {
namespace {

// Rank r's clock is ahead by ahead[r].
std::vector<ClockOffset> measure(const std::vector<Ns>& ahead,
                                 const std::vector<std::int64_t>& boots) {
  auto group = make_thread_group(static_cast<int>(ahead.size()));
  EXPECT_TRUE(group);
  std::vector<ClockOffset> offsets(ahead.size());
  std::vector<std::jthread> threads;
  for (std::size_t r = 0; r < ahead.size(); ++r) {
    threads.emplace_back([&, r] {
      const HostClock clock{boots[r], [&, r] { return monotonic_now() + ahead[r]; }};
      const auto offset = clock_offset(*(*group)[r], clock);
      ASSERT_TRUE(offset) << offset.error().message();
      offsets[r] = *offset;
    });
  }
  threads.clear();
  return offsets;
}

TEST(ClockOffset, IsWhatTheClocksDifferByWithinItsUncertainty) {
  const std::vector<Ns> ahead = {Ns{5'000'000'000}, Ns{5'000'000'000}, Ns{-70'000'000'000}, Ns{3}};
  const auto offsets = measure(ahead, {7, 7, 8, 9});
  for (const std::size_t same : {0U, 1U}) {
    EXPECT_EQ(offsets[same].offset, Ns{});
    EXPECT_EQ(offsets[same].uncertainty, Ns{});
  }
  for (const std::size_t other : {2U, 3U}) {
    EXPECT_GT(offsets[other].uncertainty, Ns{});
    const Ns error = offsets[other].offset - (ahead[0] - ahead[other]);
    EXPECT_LE(std::chrono::abs(error), offsets[other].uncertainty);
  }
}

TEST(ClockOffset, ProcessesOfOneHostHaveOneClock) {
  const HostClock clock = host_clock();
  EXPECT_EQ(clock.boot, host_clock().boot);
  for (const ClockOffset& o : measure({Ns{}, Ns{}}, {clock.boot, clock.boot}))
    EXPECT_EQ(o.offset, Ns{});
}

}  // namespace
}  // namespace stepscope
