// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/time/collective_cost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "stepscope/cost/explain/explain_test_expression.h"

namespace stepscope {
namespace {

using enum CollectiveKind;

constexpr Bytes huge{std::int64_t{1} << 40};  // its steps are negligible

// 8 per switch at 400 GB/s, ports of 25. Every efficiency is 1, without pass and start, so times
// are the closed formulas.
Network ideal() {
  Network n;
  n.domain = 8;
  n.up = n.peer = ByteRate{400e9};
  n.out = ByteRate{25e9};
  for (std::size_t p = 0; p < link_parameter_count; ++p) n.up_timing[p] = n.out_timing[p] = 1;
  for (ResolvedTiming* t : {&n.up_timing, &n.out_timing}) {
    for (const LinkParameter p :
         {LinkParameter::start_us, LinkParameter::tree_start_us, LinkParameter::reduce_start_us,
          LinkParameter::pass_all_reduce, LinkParameter::pass_all_gather,
          LinkParameter::pass_reduce_scatter, LinkParameter::turn, LinkParameter::tree_fill}) {
      (*t)[static_cast<std::size_t>(p)] = 0;
    }
  }
  return n;
}

double seconds(const Network& n, CollectiveKind kind, Bytes bytes, int size, int stride = 1) {
  return collective_time(n, kind, bytes, *place(size, stride, n)).count();
}

std::optional<AlgorithmTime> algorithm(const Network& n, CollectiveKind kind, Bytes bytes,
                                       const GroupPlacement& group, Algorithm wanted) {
  const auto all = collective_algorithms(n, kind, bytes, group);
  const auto at = std::ranges::find(all, wanted, &AlgorithmTime::algorithm);
  return at == all.end() ? std::nullopt : std::optional(*at);
}

double bytes_at(double gb_per_s) { return static_cast<double>(huge.value) / (gb_per_s * 1e9); }

TEST(CollectiveTime, OfAGroupOfOneIsNothing) {
  for (const CollectiveKind kind : {all_reduce, all_gather, all_to_all, broadcast, send_recv}) {
    EXPECT_EQ(seconds(ideal(), kind, huge, 1), 0);
  }
  EXPECT_TRUE(collective_algorithms(ideal(), all_reduce, huge, GroupPlacement{}).empty());
}

TEST(CollectiveTime, MovesTheVolumesOfTheClosedFormulas) {
  const Network n = ideal();
  const double near = 1e-4;
  EXPECT_NEAR(seconds(n, all_gather, huge, 8) / bytes_at(400), 7.0 / 8, near);
  EXPECT_NEAR(seconds(n, reduce_scatter, huge, 4) / bytes_at(400), 3.0 / 4, near);
  EXPECT_NEAR(seconds(n, all_reduce, huge, 8) / bytes_at(400), 14.0 / 8, near);
  EXPECT_NEAR(seconds(n, all_to_all, huge, 8) / bytes_at(400), 7.0 / 8, near);
  EXPECT_NEAR(seconds(n, broadcast, huge, 8) / bytes_at(400), 1, near);
  EXPECT_NEAR(seconds(n, reduce, huge, 8) / bytes_at(400), 1, near);
  EXPECT_NEAR(seconds(n, send_recv, huge, 2) / bytes_at(400), 1, near);
  EXPECT_NEAR(seconds(n, gather, huge, 8) / bytes_at(400), 7.0 / 8, near);
}

TEST(CollectiveTime, AcrossDomainsIsBoundByThePortsOfTheMembers) {
  const Network n = ideal();
  const double near = 1e-4;
  EXPECT_NEAR(seconds(n, all_gather, huge, 64) / bytes_at(200), 63.0 / 64, near);
  EXPECT_NEAR(seconds(n, all_gather, huge, 8, 8) / bytes_at(25), 7.0 / 8, near);
  EXPECT_NEAR(seconds(n, all_reduce, huge, 64) / bytes_at(200), 2 * 63.0 / 64, near);
  // Each of 8 devices sends 56/64 of its own buffer through its own port.
  EXPECT_NEAR(seconds(n, all_to_all, huge, 64) / bytes_at(25), 56.0 / 64, near);
  EXPECT_NEAR(seconds(n, send_recv, huge, 2, 8) / bytes_at(25), 1, near);
}

TEST(CollectiveTime, OfTwoDomainsUsesTreesThatCrossOnce) {
  const Network n = ideal();
  const GroupPlacement pair = *place(16, 1, n);
  const auto tree = algorithm(n, all_reduce, huge, pair, Algorithm::tree);
  const auto ring = algorithm(n, all_reduce, huge, pair, Algorithm::ring);
  ASSERT_TRUE(tree && ring);
  EXPECT_NEAR(tree->time.count() / bytes_at(200), 1, 1e-4);
  EXPECT_NEAR(ring->time.count() / bytes_at(200), 2 * 15.0 / 16, 1e-4);
}

TEST(CollectiveTime, CountsTheStepsOfRingsAndTrees) {
  const Network n = ideal();  // every step 1 us
  const double us = 1e6;
  EXPECT_NEAR(seconds(n, all_gather, Bytes{0}, 8) * us, 7, 1e-9);
  EXPECT_NEAR(seconds(n, reduce_scatter, Bytes{0}, 64) * us, 63, 1e-9);
  EXPECT_NEAR(seconds(n, all_reduce, Bytes{0}, 8) * us, 14, 1e-9);
  // 2 (7 + log2 64): the tree's latency grows with the logarithm of the domains.
  EXPECT_NEAR(seconds(n, all_reduce, Bytes{0}, 512) * us, 26, 1e-9);
  EXPECT_NEAR(seconds(n, barrier, huge, 512) * us, 26, 1e-9) << "a barrier moves no bytes";
  const auto ring = algorithm(n, all_reduce, Bytes{0}, *place(512, 1, n), Algorithm::ring);
  EXPECT_NEAR(ring->steps.count() * us, 2 * 511, 1e-9);
}

TEST(CollectiveTime, GrowsWithTheBytes) {
  for (const char* name : {"NVIDIA H200", "Tesla V100-SXM2-32GB", "NVIDIA A100-SXM4-40GB"}) {
    const Network n = *make_network(*find_machine(name));
    for (const CollectiveKind kind : {all_reduce, all_gather, reduce_scatter, all_to_all, reduce}) {
      for (const int size : {2, 6, 8, 24, 256}) {
        double before = 0;
        for (std::int64_t b = 1; b < huge.value; b = b * 3 / 2 + 1) {
          const double now = seconds(n, kind, Bytes{b}, size);
          ASSERT_GE(now, before) << name << " " << size << " " << b;
          before = now;
        }
      }
    }
  }
}

TEST(CollectiveTime, IsTheBestOfWhatTheLibraryOffers) {
  const Network n = *make_network(*find_machine("NVIDIA H200"));
  for (const int size : {2, 8, 16, 512}) {
    for (std::int64_t b = 1024; b < huge.value; b *= 7) {
      for (const CollectiveKind kind : {all_reduce, all_gather, all_to_all}) {
        const GroupPlacement group = *place(size, 1, n);
        double best = 1e300;
        for (const AlgorithmTime& a : collective_algorithms(n, kind, Bytes{b}, group)) {
          if (a.offered) best = std::min(best, a.time.count());
        }
        EXPECT_DOUBLE_EQ(collective_time(n, kind, Bytes{b}, group).count(), best);
      }
    }
  }
}

TEST(CollectiveTime, OfAHierarchyIsAtMostTheRingsAcrossDomains) {
  const Network n = *make_network(*find_machine("NVIDIA A100-SXM4-80GB"));
  for (const CollectiveKind kind : {all_reduce, all_gather, reduce_scatter}) {
    for (std::int64_t b = 1024; b < huge.value; b *= 5) {
      const GroupPlacement group = *place(64, 1, n);
      const auto ring = algorithm(n, kind, Bytes{b}, group, Algorithm::ring);
      const auto hierarchy = algorithm(n, kind, Bytes{b}, group, Algorithm::hierarchical);
      ASSERT_TRUE(ring && hierarchy);
      EXPECT_FALSE(hierarchy->offered) << "NCCL has none without reducing switches";
      EXPECT_LE(hierarchy->time.count(), ring->time.count() * (1 + 1e-12));
    }
  }
}

TEST(CollectiveTime, OfATreeInsideOneDomainIsForComparisonOnly) {
  const Network n = *make_network(*find_machine("NVIDIA A100-SXM4-80GB"));
  for (const int size : {2, 8}) {
    const GroupPlacement group = *place(size, 1, n);
    const auto tree = algorithm(n, all_reduce, huge, group, Algorithm::tree);
    const auto ring = algorithm(n, all_reduce, huge, group, Algorithm::ring);
    ASSERT_TRUE(tree && ring);
    EXPECT_FALSE(tree->offered);
    EXPECT_FALSE(algorithm(n, all_gather, huge, group, Algorithm::tree));
    EXPECT_GE(tree->transfer.count(), ring->transfer.count() * (1 - 1e-12));
  }
}

TEST(CollectiveTime, ReducesInTheSwitchFromTheSmallestGroupOn) {
  const Network n = *make_network(*find_machine("NVIDIA H200"));
  const Bytes gib{1 << 30};
  EXPECT_FALSE(algorithm(n, all_reduce, gib, *place(4, 1, n), Algorithm::in_network));
  EXPECT_TRUE(algorithm(n, all_reduce, gib, *place(5, 1, n), Algorithm::in_network));
  EXPECT_FALSE(algorithm(n, all_gather, gib, *place(8, 1, n), Algorithm::in_network));
  const auto best = collective_algorithms(n, all_reduce, gib, *place(8, 1, n)).front();
  EXPECT_EQ(best.algorithm, Algorithm::in_network);
  const double busbw = 1.75 * static_cast<double>(gib.value) / best.time.count() / 1e9;
  EXPECT_GT(busbw, 450) << "more than the links' rate, as measured (480)";
  EXPECT_TRUE(algorithm(n, all_reduce, gib, *place(32, 1, n), Algorithm::hierarchical)->offered);
}

TEST(CollectiveTime, MeetsPublishedRatesThatNothingWasFittedTo) {
  // stas00/ml-engineering, network/README.md: all-reduce over 4 x 8 B200 reaches 382 GB/s of busbw.
  const Network b200 = *make_network(*find_machine("NVIDIA B200"));
  const Bytes large{std::int64_t{16} << 30};
  const double bytes = static_cast<double>(large.value);
  const double four_nodes = 2 * 31.0 / 32 * bytes / seconds(b200, all_reduce, large, 32) / 1e9;
  EXPECT_NEAR(four_nodes, 382, 38);
}

TEST(CollectiveTime, OnAMeshFallsToOneLinkForTwo) {
  // The same source: MI300X reaches 48 GB/s between two and 313 among eight.
  const Network mi300x = *make_network(*find_machine("AMD Instinct MI300X"));
  const Bytes large{std::int64_t{16} << 30};
  const double bytes = static_cast<double>(large.value);
  EXPECT_NEAR(bytes / seconds(mi300x, all_reduce, large, 2) / 1e9, 48, 3);
  EXPECT_NEAR(1.75 * bytes / seconds(mi300x, all_reduce, large, 8) / 1e9, 313, 15);
}

TEST(CollectiveAlgorithms, ComeFastestFirstWithTheFormulaThatGivesTheirTime) {
  const Network n = *make_network(*find_machine("NVIDIA H200"));
  const auto all = collective_algorithms(n, all_reduce, Bytes{1 << 20}, *place(32, 1, n));
  ASSERT_GE(all.size(), 3u);
  EXPECT_TRUE(std::ranges::is_sorted(all, {}, &AlgorithmTime::time));
  for (const AlgorithmTime& a : all) {
    EXPECT_GE(a.time.count(), a.start.count() + std::max(a.steps.count(), a.transfer.count()));
    const auto equals = a.formula.rfind("= ");
    ASSERT_NE(equals, std::string::npos) << a.formula;
    const auto said = explain_test::Expression(a.formula.substr(equals + 2)).value();
    EXPECT_LE(said.low, a.time.count()) << a.formula;
    EXPECT_GE(said.high, a.time.count()) << a.formula;
    EXPECT_NE(a.formula.find("across"), std::string::npos) << a.formula;
  }
}

}  // namespace
}  // namespace stepscope
