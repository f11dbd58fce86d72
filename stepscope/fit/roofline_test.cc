// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/roofline.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

// 100 TFLOP/s, 1000 GB/s: the ridge lies at 100 flop per byte.
Machine roofline_box() {
  Machine m;
  m.peak_rates[index(Dtype::bf16)] = FlopRate{100e12};
  m.memory_rate = ByteRate{1000e9};
  return m;
}

RooflineWork work(std::optional<double> flops, std::optional<std::int64_t> bytes) {
  RooflineWork w{.flops = {},
                 .bytes = {},
                 .dtype = Dtype::bf16,
                 .streams = false,
                 .time = std::chrono::milliseconds(1)};
  if (flops) w.flops = Flops{*flops};
  if (bytes) w.bytes = Bytes{*bytes};
  return w;
}

TEST(Roofline, PutsADenseProductUnderThePeak) {
  const RooflinePlace p = place_on_roofline(work(80e9, 100'000'000), roofline_box());
  EXPECT_EQ(p.bound, Bound::compute);
  EXPECT_NEAR(*p.peak_share, 0.8, 1e-12);
  EXPECT_NEAR(*p.bandwidth_share, 0.1, 1e-12);
  EXPECT_NEAR(*p.intensity, 800, 1e-9);
  EXPECT_NEAR(*p.ridge, 100, 1e-9);
  EXPECT_NEAR(*p.roof_share, 0.8, 1e-12);
}

TEST(Roofline, PutsAThinProductUnderTheBandwidth) {
  const RooflinePlace p = place_on_roofline(work(1e9, 500'000'000), roofline_box());
  EXPECT_EQ(p.bound, Bound::memory);
  EXPECT_NEAR(*p.roof_share, 0.5, 1e-12);
}

TEST(Roofline, BoundsWorkThatOnlyMovesBytesByMemoryWhateverThePeak) {
  Machine m = roofline_box();
  m.peak_rates = {};
  const RooflinePlace p = place_on_roofline(work(0, 700'000'000), m);
  EXPECT_EQ(p.bound, Bound::memory);
  EXPECT_NEAR(*p.roof_share, 0.7, 1e-12);
  EXPECT_FALSE(p.peak_share);
  EXPECT_FALSE(p.ridge);
}

TEST(Roofline, RatesAnOperatorsRow) {
  OperatorRow row;
  row.kind = NameClass::elementwise;
  row.precision = OperandFormat::bf16;
  row.bytes = Bytes{600'000'000};
  row.device = std::chrono::milliseconds(1);
  const RooflinePlace streaming = place_on_roofline(roofline_work(row), roofline_box());
  EXPECT_EQ(streaming.bound, Bound::memory);
  EXPECT_NEAR(*streaming.roof_share, 0.6, 1e-12);
  EXPECT_FALSE(streaming.peak_share) << "its flops are unknown";
  row.over_host = true;
  EXPECT_FALSE(place_on_roofline(roofline_work(row), roofline_box()).bandwidth_share)
      << "its bytes cross the host's link";
  row.over_host = false;
  row.kind = NameClass::matmul;
  EXPECT_EQ(place_on_roofline(roofline_work(row), roofline_box()).bound, Bound::unknown);
  row.flops = Flops{90e9};
  EXPECT_EQ(place_on_roofline(roofline_work(row), roofline_box()).bound, Bound::compute);
  row.precision = OperandFormat::int8;
  EXPECT_FALSE(place_on_roofline(roofline_work(row), roofline_box()).peak_share);
}

TEST(Roofline, DoesNotGuessWhatItIsNotTold) {
  const RooflinePlace no_flops = place_on_roofline(work({}, 100), roofline_box());
  EXPECT_EQ(no_flops.bound, Bound::unknown);
  EXPECT_TRUE(no_flops.bandwidth_share);
  EXPECT_FALSE(no_flops.intensity);
  const RooflinePlace no_bytes = place_on_roofline(work(50e9, {}), roofline_box());
  EXPECT_EQ(no_bytes.bound, Bound::unknown);
  EXPECT_NEAR(*no_bytes.peak_share, 0.5, 1e-12);
  RooflineWork instant = work(1, 1);
  instant.time = Ns{0};
  EXPECT_FALSE(place_on_roofline(instant, roofline_box()).peak_share);
}

TEST(Roofline, TakesTheUsersPeakBeforeTheMachines) {
  EXPECT_NEAR(*place_on_roofline(work(80e9, 1), roofline_box(), FlopRate{160e12}).peak_share, 0.5,
              1e-12);
}

}  // namespace
}  // namespace stepscope
