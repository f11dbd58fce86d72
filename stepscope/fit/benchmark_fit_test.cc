// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/benchmark_fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stepscope/cost/machine/machine.h"

namespace stepscope {
namespace {

const Machine& h100() {
  const Machine* found = find_machine("NVIDIA H100 80GB HBM3");
  EXPECT_NE(found, nullptr);
  return *found;
}

// All-reduce of `ranks` whose times are `start` + bytes / `rate`.
CommBenchmark line(int ranks, int hosts, double start, double rate) {
  CommBenchmark b;
  b.path = "made.txt";
  b.tool = "nccl-tests";
  b.kind = CollectiveKind::all_reduce;
  b.ranks = ranks;
  b.hosts = hosts;
  for (std::int64_t bytes = 1 << 13; bytes <= 1 << 30; bytes *= 2)
    b.points.push_back(
        {.bytes = Bytes{bytes}, .time = Seconds{start + static_cast<double>(bytes) / rate}});
  return b;
}

TEST(BenchmarkFit, FindsTheLineThatMadeTheTimes) {
  auto placed = place_benchmark(line(8, 1, 20e-6, 200e9), h100(), {});
  ASSERT_TRUE(placed) << placed.error().message();
  EXPECT_EQ(placed->timings.size(), 18U);
  EXPECT_EQ(placed->timings[0].group.size, 8);
  const auto fit = fit_benchmarks(h100(), std::span(&*placed, 1), "a benchmark");
  ASSERT_TRUE(fit) << fit.error().message();
  ASSERT_EQ(fit->transfers.size(), 1U);
  ASSERT_TRUE(fit->transfers[0].answer.fit);
  EXPECT_LT(fit->fitted_error, 0.001);
  EXPECT_LT(fit->modelled_error, 0.2);
  EXPECT_LT(fit->modelled_error, fit->before_error);
  ASSERT_EQ(fit->rows.size(), 18U);
  EXPECT_NEAR(fit->rows.back().fitted->count(), fit->rows.back().measured.count(), 1e-6);
  EXPECT_EQ(fit->machine.sources.back(), "a benchmark");
  ASSERT_TRUE(fit->machine.scale_up->timing);
}

TEST(BenchmarkFit, TimingsOfOneSizeHaveASpread) {
  CommBenchmark twice = line(8, 1, 20e-6, 200e9);
  const std::vector<BenchmarkPoint> once = twice.points;
  for (BenchmarkPoint p : once) {
    p.time *= 1.5;
    twice.points.push_back(p);
  }
  const auto placed = place_benchmark(twice, h100(), {});
  ASSERT_TRUE(placed);
  const auto fit = fit_benchmarks(h100(), std::span(&*placed, 1), "a benchmark");
  ASSERT_TRUE(fit);
  const BenchmarkRow& row = fit->rows.front();
  ASSERT_TRUE(row.spread);
  EXPECT_EQ(row.spread->calls, 2U);
  EXPECT_NEAR(row.spread->low / once[0].time, 1.05, 1e-9);
  EXPECT_NEAR(row.spread->high / once[0].time, 1.45, 1e-9);
}

TEST(BenchmarkFit, MeasuredTransfersStandBesideTheModels) {
  const auto placed = place_benchmark(line(8, 1, 20e-6, 200e9), h100(), {});
  ASSERT_TRUE(placed);
  const auto fits = fit_transfers(placed->timings);
  const auto rows = benchmark_rows(placed->timings, h100(), fits);
  ASSERT_EQ(rows.size(), placed->timings.size());
  EXPECT_FALSE(rows[0].spread);  // the file has one time of each size
  EXPECT_FALSE(rows[0].before);
  EXPECT_NEAR(*rows[0].fitted / rows[0].measured, 1, 0.01);
  EXPECT_TRUE(rows[0].modelled);
}

TEST(BenchmarkFit, HostsTellTheLinks) {
  const auto far = place_benchmark(line(16, 2, 40e-6, 100e9), h100(), {});
  ASSERT_TRUE(far) << far.error().message();
  EXPECT_EQ(far->timings[0].group.domains, 2);
  EXPECT_EQ(far->timings[0].group.members, 8);
  // Two hosts with one or two GPUs each are not neighbours.
  const auto four = place_benchmark(line(4, 2, 40e-6, 20e9), h100(), {});
  ASSERT_TRUE(four);
  EXPECT_EQ(four->timings[0].group.members, 2);
  EXPECT_EQ(four->timings[0].group.domains, 2);
  const auto two = place_benchmark(line(2, 2, 40e-6, 20e9), h100(), {});
  ASSERT_TRUE(two);
  EXPECT_EQ(two->timings[0].group.domains, 2);
}

TEST(BenchmarkFit, SizesOfOneRankBecomeTotals) {
  CommBenchmark osu = line(0, 0, 20e-6, 100e9);
  osu.tool = "OSU";
  osu.kind = CollectiveKind::all_gather;
  osu.per_rank = true;
  EXPECT_NE(place_benchmark(osu, h100(), {}).error().message().find("--ranks"), std::string::npos);
  const auto placed = place_benchmark(osu, h100(), {.ranks = 4, .hosts = {}});
  ASSERT_TRUE(placed);
  EXPECT_TRUE(placed->hosts_assumed);
  EXPECT_EQ(placed->timings[0].bytes.value, 4 * 8192);
  EXPECT_DOUBLE_EQ(placed->timings[0].time.count(), 20e-6 + 8192 / 100e9);
}

TEST(BenchmarkFit, UnknownHostsAreAsFewAsTheLinksAllow) {
  const auto two = place_benchmark(line(16, 0, 40e-6, 100e9), h100(), {});
  ASSERT_TRUE(two) << two.error().message();
  EXPECT_EQ(two->hosts, 2);
  EXPECT_TRUE(two->hosts_assumed);
  EXPECT_EQ(two->timings[0].group.domains, 2);
  EXPECT_EQ(place_benchmark(line(8, 0, 40e-6, 100e9), h100(), {})->hosts, 1);
  const auto odd = place_benchmark(line(9, 0, 40e-6, 100e9), h100(), {});
  ASSERT_FALSE(odd);
  EXPECT_NE(odd.error().message().find("give --nodes"), std::string::npos);
  EXPECT_TRUE(place_benchmark(line(9, 0, 40e-6, 100e9), h100(), {.ranks = {}, .hosts = 9}));
}

TEST(BenchmarkFit, WhatCannotBePlacedIsRefused) {
  EXPECT_FALSE(place_benchmark(line(1, 1, 1e-6, 1e9), h100(), {}));
  CommBenchmark uneven = line(6, 2, 1e-5, 1e9);
  uneven.same_ranks_per_host = false;
  EXPECT_FALSE(place_benchmark(uneven, h100(), {}));
  CommBenchmark bandwidth = line(2, 1, 1e-6, 1e9);
  bandwidth.many_at_once = true;
  const auto placed = place_benchmark(bandwidth, h100(), {});
  ASSERT_TRUE(placed);
  EXPECT_TRUE(placed->timings.empty());
  EXPECT_FALSE(fit_benchmarks(h100(), std::span(&*placed, 1), "x"));
}

}  // namespace
}  // namespace stepscope
