// SPDX-License-Identifier: Apache-2.0
// A GPU's timer with a known offset and drift; a fixed generator delays its sightings.
#include "plugins/nccl/gpu_clock.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <random>

namespace stepscope::nccl {
namespace {

constexpr std::int64_t ms = 1'000'000;

struct Timer {
  std::int64_t offset;
  double drift;  // of the GPU against the host
  [[nodiscard]] std::uint64_t at(std::int64_t host) const {
    return static_cast<std::uint64_t>(host + offset +
                                      static_cast<std::int64_t>(drift * static_cast<double>(host)));
  }
};

// The largest error over `seconds`. Like the writer, it asks 100 ms after each sighting.
std::int64_t worst_error(const Timer& timer, std::int64_t seconds) {
  std::mt19937_64 random(7);
  std::exponential_distribution<double> delay(1.0 / 30'000);  // 30 us in the mean
  GpuClock clock;
  std::int64_t worst = 0;
  for (std::int64_t host = 0; host < seconds * 1000 * ms; host += ms) {
    const std::int64_t late = 500 + static_cast<std::int64_t>(delay(random));
    clock.saw(timer.at(host), host + late);
    if (host < 1000 * ms) continue;
    const std::int64_t asked = host - 100 * ms;
    worst = std::max(worst, std::abs(clock.to_host(timer.at(asked)) - asked));
  }
  return worst;
}

TEST(GpuClock, TheShortestDelayCounts) {
  GpuClock clock;
  EXPECT_FALSE(clock.known());
  clock.saw(1'000'000, 5'000'900);
  EXPECT_TRUE(clock.known());
  EXPECT_EQ(clock.to_host(1'000'000), 5'000'900);
  clock.saw(1'001'000, 5'001'050);
  clock.saw(1'002'000, 5'007'000);
  EXPECT_EQ(clock.to_host(1'000'000), 5'000'050);
  EXPECT_EQ(clock.to_host(3'000'000), 7'000'050);
}

TEST(GpuClock, AnyOffsetIsFoundToMicroseconds) {
  EXPECT_LT(worst_error({.offset = 1'700'000'000'000'000'000, .drift = 0}, 20), 5'000);
  EXPECT_LT(worst_error({.offset = 0, .drift = 0}, 20), 5'000);
}

// Without following the drift, the error of 50 ppm over 100 s would be 5 ms.
TEST(GpuClock, ADriftIsFollowed) {
  EXPECT_LT(worst_error({.offset = 12345, .drift = 50e-6}, 100), 20'000);
  EXPECT_LT(worst_error({.offset = 12345, .drift = -50e-6}, 100), 20'000);
}

TEST(GpuClock, AStampBeforeAllThatWereSeenIsPlacedToo) {
  GpuClock clock;
  for (std::int64_t t = 1000 * ms; t < 3000 * ms; t += 10 * ms)
    clock.saw(static_cast<std::uint64_t>(t), t + 77);
  EXPECT_EQ(clock.to_host(5), 82);
}

}  // namespace
}  // namespace stepscope::nccl
