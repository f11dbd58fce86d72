// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/link_fit.h"

#include <gtest/gtest.h>

#include <cmath>

namespace stepscope {
namespace {

constexpr std::string_view box_name = R"({"name": "box", "peak_tflops": {}, "sources": ["s"],
  "scale_up": {"name": "l", "gb_per_s_per_direction": 300, "domain": 8, "topology": "switch"},
  "scale_out": {"gb_per_s_per_direction": 25}})";

Network unmeasured() { return *make_network(*parse_machine(box_name, "box")); }

double& value(ResolvedTiming& timing, LinkParameter p) {
  return timing[static_cast<std::size_t>(p)];
}
double value(const ResolvedTiming& timing, LinkParameter p) { return of(timing, p); }

Network truth() {
  Network n = unmeasured();
  value(n.up_timing, LinkParameter::start_us) = 9;
  value(n.up_timing, LinkParameter::hop_ll_us) = 1.4;
  value(n.up_timing, LinkParameter::link_efficiency) = 0.8;
  value(n.out_timing, LinkParameter::hop_ll_us) = 6;
  value(n.out_timing, LinkParameter::link_efficiency) = 0.7;
  value(n.out_timing, LinkParameter::turn) = 0.4;
  return n;
}

std::vector<CollectiveTiming> measured(const Network& n, bool across) {
  std::vector<CollectiveTiming> timings;
  for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::all_reduce}) {
    for (const int domains : {1, 4, 16}) {
      for (const int members : {1, 2, 8}) {
        if (domains * members < 2 || (domains > 1 && !across)) continue;
        for (std::int64_t b = 1024; b < std::int64_t{1} << 34; b *= 2) {
          CollectiveTiming t{
              .kind = kind, .group = *place_in_domains(domains, members, n), .bytes = Bytes{b}};
          t.time = *modelled_time(n, t);
          timings.push_back(t);
        }
      }
    }
  }
  return timings;
}

TEST(FitLinks, ExplainsWhatALikeNetworkMeasured) {
  const auto timings = measured(truth(), true);
  const LinkFit fit = fit_links(unmeasured(), timings);
  EXPECT_LT(fit.mean_error, 0.01);
  EXPECT_NEAR(value(fit.network.up_timing, LinkParameter::start_us), 9, 2);
  EXPECT_NEAR(value(fit.network.out_timing, LinkParameter::hop_ll_us), 6, 0.5);
  const double ports = value(fit.network.out_timing, LinkParameter::link_efficiency);
  EXPECT_NEAR(ports, 0.7, 0.05);
}

TEST(FitLinks, PredictsAGroupItHasNotSeen) {
  const auto timings = measured(truth(), true);
  const LinkFit fit = fit_links(unmeasured(), timings);
  for (const int domains : {2, 8, 64}) {
    for (std::int64_t b = 4096; b < std::int64_t{1} << 33; b *= 16) {
      const CollectiveTiming t{.kind = CollectiveKind::all_gather,
                               .group = *place_in_domains(domains, 4, truth()),
                               .bytes = Bytes{b}};
      const double expected = modelled_time(truth(), t)->count();
      EXPECT_NEAR(modelled_time(fit.network, t)->count() / expected, 1, 0.05)
          << domains << " " << b;
    }
  }
}

TEST(FitLinks, IsNotDrawnByAWildTiming) {
  auto timings = measured(truth(), true);
  timings[5].time *= 40;
  timings[50].time *= 40;
  const LinkFit fit = fit_links(unmeasured(), timings);
  const auto honest = measured(truth(), true);
  double error = 0;
  for (const CollectiveTiming& t : honest) {
    error += std::abs(modelled_time(fit.network, t)->count() / t.time.count() - 1);
  }
  EXPECT_LT(error / static_cast<double>(honest.size()), 0.03);
}

TEST(FitLinks, LeavesAbsentWhatTheTimingsCannotTell) {
  const LinkFit fit = fit_links(unmeasured(), measured(truth(), false));
  for (const std::optional<double>& v : fit.out.values) EXPECT_FALSE(v);
  EXPECT_TRUE(fit.up.values[static_cast<std::size_t>(LinkParameter::hop_ll_us)]);
  EXPECT_FALSE(fit.up.values[static_cast<std::size_t>(LinkParameter::pass_reduce_scatter)]);
  EXPECT_FALSE(fit.up.values[static_cast<std::size_t>(LinkParameter::reduce_hop_us)]);
  const LinkFit none = fit_links(unmeasured(), {});
  for (const std::optional<double>& v : none.up.values) EXPECT_FALSE(v);
  EXPECT_EQ(none.mean_error, 0);
}

TEST(FitLinks, UsesTheAlgorithmThatRan) {
  const Network n = truth();
  CollectiveTiming t{.kind = CollectiveKind::all_reduce,
                     .group = *place_in_domains(16, 8, n),
                     .bytes = Bytes{4096},
                     .time = {},
                     .algorithm = Algorithm::ring};
  const auto ring = modelled_time(n, t);
  t.algorithm.reset();
  ASSERT_TRUE(ring);
  EXPECT_LT(modelled_time(n, t)->count(), ring->count()) << "the tree is faster";
  t.algorithm = Algorithm::in_network;
  EXPECT_FALSE(modelled_time(n, t)) << "these switches do not reduce";
}

}  // namespace
}  // namespace stepscope
