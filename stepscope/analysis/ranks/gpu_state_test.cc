// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/ranks/gpu_state.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

GpuReading reading(std::int64_t ns, float clock, std::uint32_t reasons = 0) {
  return {.time = Ns{ns},
          .sm_clock_mhz = clock,
          .reasons = reasons,
          .reasons_known = all_clock_reasons};
}

TEST(GpuStates, WeightsReadingsWithTheTimeTheyStandFor) {
  const std::vector<GpuReading> readings = {reading(0, 2000), reading(100, 1000, 64),
                                            reading(200, 2000)};
  const std::vector<TimeSpan> spans = {{Ns{50}, Ns{250}}, {Ns{250}, Ns{390}}, {Ns{390}, Ns{1000}}};
  const auto states = gpu_states(readings, Ns{0}, {}, spans);
  ASSERT_EQ(states.size(), 3U);
  // 50 ns of 2000, 100 of 1000, 50 of 2000.
  EXPECT_EQ(states[0].sm_clock_mhz.mean(), 1500);
  EXPECT_EQ(states[0].sm_clock_mhz.least(), 1000);
  EXPECT_EQ(states[0].readings, 3U);
  EXPECT_EQ(states[0].covered, Ns{200});
  EXPECT_EQ(states[0].reasons[static_cast<std::size_t>(ClockReason::hw_thermal_slowdown)].mean(),
            0.5);
  // The last reading stands until 400, twice the median distance.
  EXPECT_EQ(states[1].covered, Ns{140});
  EXPECT_EQ(states[2].covered, Ns{10});
  EXPECT_TRUE(states[1].tells());
  EXPECT_FALSE(states[2].tells());
  GpuState all;
  for (const GpuState& s : states) all.add(s);
  EXPECT_EQ(all.covered, Ns{350});
  EXPECT_EQ(all.sm_clock_mhz.least(), 1000);
  EXPECT_DOUBLE_EQ(all.sm_clock_mhz.mean().value_or(0), (250.0 * 2000 + 100.0 * 1000) / 350);
}

TEST(GpuStates, SubtractsTheZoneAndCorrectsTheClock) {
  const std::vector<GpuReading> readings = {reading(1000, 2000), reading(1100, 1000)};
  const std::vector<TimeSpan> spans = {{Ns{90}, Ns{190}}};
  const auto states = gpu_states(readings, Ns{900}, {.offset = Ns{10}}, spans);
  EXPECT_EQ(states[0].sm_clock_mhz.mean(), 2000);
}

TEST(GpuStates, HoldsNothingForAbsentValues) {
  const std::vector<GpuReading> readings = {{.time = Ns{0}, .power_watts = 500.0F},
                                            {.time = Ns{100}, .power_watts = 600.0F}};
  const std::vector<TimeSpan> spans = {{Ns{0}, Ns{200}}};
  const auto states = gpu_states(readings, Ns{0}, {}, spans);
  EXPECT_EQ(states[0].power_watts.mean(), 550);
  EXPECT_FALSE(states[0].sm_clock_mhz.mean());
  EXPECT_FALSE(states[0].reasons[0].mean());
  EXPECT_TRUE(gpu_states({}, Ns{0}, {}, spans)[0].covered == Ns{0});
}

}  // namespace
}  // namespace stepscope
