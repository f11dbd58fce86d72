// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/calibration.h"

#include <gtest/gtest.h>

#include "stepscope/cost/machine/machine_text.h"

namespace stepscope {
namespace {

// Shared memory: 2 us per call and 8 GB/s.
Calibration measured() {
  Calibration c;
  c.name = "box";
  c.ranks = 2;
  c.memory = Bytes{32'000'000'000};
  c.peaks[index(Dtype::fp32)] = FlopRate{100e9};
  c.memory_rate = ByteRate{20e9};
  c.sources = {"stepscope calibrate"};
  for (const CollectiveKind kind :
       {CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce}) {
    for (std::int64_t bytes = 1024; bytes <= (std::int64_t{64} << 20); bytes *= 4) {
      const double sent = static_cast<double>(bytes) * *busbw_factor(kind, 2);
      CollectiveTiming t{
          .kind = kind, .group = {}, .bytes = Bytes{bytes}, .time = {}, .algorithm = {}};
      t.group.size = 2;
      t.time = Seconds{2e-6 + sent / 8e9};
      c.collectives.push_back(t);
    }
  }
  return c;
}

TEST(Calibration, ItsMachineTimesCollectivesAsMeasured) {
  const auto made = calibrated_machine(measured());
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_LT(made->link_error, 0.1);
  EXPECT_EQ(made->machine.scale_up->domain, 2);
  EXPECT_EQ(made->machine.memory, Bytes{16'000'000'000});
  const auto again = parse_machine(machine_text(made->machine), "box.json");
  ASSERT_TRUE(again) << again.error().message();
  const auto network = make_network(*again);
  ASSERT_TRUE(network) << network.error().message();
  EXPECT_TRUE(network->assumptions.empty()) << network->assumptions.front();
  const auto pair = place(2, 1, *network);
  ASSERT_TRUE(pair);
  const double time =
      collective_time(*network, CollectiveKind::all_gather, Bytes{64 << 20}, *pair).count();
  // The model's time of a ring is smooth at the transition from steps to transfer; the timings are
  // not.
  EXPECT_NEAR(time / (2e-6 + (32 << 20) / 8e9), 1, 0.08);
}

TEST(Calibration, OneRankHasNoLinks) {
  Calibration c = measured();
  c.ranks = 1;
  c.collectives.clear();
  const auto made = calibrated_machine(c);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_FALSE(made->machine.scale_up);
}

TEST(Calibration, ThePeakIsNoLessThanAProductReached) {
  Calibration c = measured();
  c.matmul_max[index(Dtype::fp32)] = FlopRate{102e9};
  EXPECT_EQ(calibrated_machine(c)->machine.peak_rates[index(Dtype::fp32)]->value, 102e9);
  c.matmul_max[index(Dtype::fp32)] = FlopRate{90e9};
  EXPECT_EQ(calibrated_machine(c)->machine.peak_rates[index(Dtype::fp32)]->value, 100e9);
}

TEST(Calibration, WithoutAPeakThereIsNoMachine) {
  Calibration c = measured();
  c.peaks = {};
  EXPECT_FALSE(calibrated_machine(c));
}

}  // namespace
}  // namespace stepscope
