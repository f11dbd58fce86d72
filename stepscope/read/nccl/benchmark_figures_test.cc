// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nccl/benchmark_figures.h"

#include <gtest/gtest.h>

#include <array>

namespace stepscope {
namespace {

BenchmarkFigures figures(const char* algbw, const char* busbw, std::int64_t shares,
                         bool reduces = false) {
  BenchmarkFigures f{.reduces = reduces};
  take_shares(shares * 4096, 1024, 4, f);
  take_factor(algbw, busbw, f);
  return f;
}

TEST(BenchmarkFigures, TellTheOnlyGroupSize) {
  using enum CollectiveKind;
  EXPECT_EQ(ranks_by_figures(figures("171.72", "300.51", 1), all_reduce), 8);
  EXPECT_EQ(ranks_by_figures(figures("423.16", "834.57", 1), all_reduce), 72);
  // Two digits allow 9 to 22 ranks.
  EXPECT_EQ(ranks_by_figures(figures("0.24", "0.22", 0), all_gather), 0);
  EXPECT_EQ(ranks_by_figures(figures("0.24", "0.22", 16), all_gather), 16);
  // A rate of a group without end.
  EXPECT_EQ(ranks_by_figures(figures("1.00", "2.00", 1), all_reduce), 0);
  EXPECT_EQ(ranks_by_figures(figures("43.75", "43.75", 1), send_recv), 0);
}

TEST(BenchmarkFigures, SharesAndFactorHaveToAgree) {
  using enum CollectiveKind;
  const BenchmarkFigures f = figures("52.43", "52.43", 4, true);
  EXPECT_FALSE(may_be_of(f, reduce_scatter, 4));
  EXPECT_EQ(kind_by_figures(f, 0), unknown);
  EXPECT_EQ(ranks_by_figures(f, reduce_scatter), 0);
  EXPECT_TRUE(may_be_of(figures("1.24", "1.20", 32), all_gather, 32));
  EXPECT_FALSE(may_be_of(figures("1.24", "1.20", 32), all_gather, 16));
}

TEST(BenchmarkFigures, ALargeReduceScatterIsNoAllReduceOfTwo) {
  using enum CollectiveKind;
  EXPECT_EQ(kind_by_figures(figures("50.00", "49.90", 512, true), 0), reduce_scatter);
  EXPECT_EQ(kind_by_figures(figures("50.00", "50.00", 1, true), 0), unknown);
}

TEST(BenchmarkFigures, ARowShowsItsColumns) {
  using enum CollectiveKind;
  const std::array<std::string_view, 13> row = {"1048576", "262144", "float", "sum", "-1",
                                                "27.76",   "37.78",  "66.11", "0",   "27.49",
                                                "38.15",   "66.76",  "N/A"};
  const RowPlaces places = places_in_row(row);
  EXPECT_EQ(places.redop, 3U);
  EXPECT_EQ(places.root, 4U);
  EXPECT_EQ(places.times[0], 5U);
  EXPECT_EQ(places.times[1], 9U);
  const std::array<std::string_view, 11> old = {"8192",  "128",   "float", "34.81", "0.24", "0.22",
                                                "0e+00", "34.78", "0.24",  "0.22",  "0e+00"};
  EXPECT_EQ(places_in_row(old).times[0], 3U);
  std::array<std::string_view, 13> other = row;
  other[6] = "42.00";
  EXPECT_EQ(places_in_row(other).times[0], 0U);
}

}  // namespace
}  // namespace stepscope
