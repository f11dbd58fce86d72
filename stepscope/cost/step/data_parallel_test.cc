// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/step/data_parallel.h"

#include <gtest/gtest.h>

#include <random>

#include "stepscope/cost/time/collective_cost.h"

namespace stepscope {
namespace {

struct Drawn {
  Plan plan;
  double psi = 0;
  double n = 0;
  double m = 0;
};

Drawn draw(std::mt19937_64& engine) {
  const auto whole = [&engine](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine);
  };
  Drawn d;
  d.plan.dp = whole(1, 64);
  d.plan.cp = whole(1, 4);
  const std::int64_t m = whole(1, 16);
  d.plan.batch.micro = whole(1, 4);
  d.plan.batch.global = d.plan.dp * d.plan.batch.micro * m;
  d.plan.precision.parameter_bytes = static_cast<int>(whole(1, 4));
  d.plan.precision.gradient_bytes = static_cast<int>(whole(2, 4));
  d.psi = static_cast<double>(whole(1, 1'000'000'000));
  d.n = static_cast<double>(d.plan.dp * d.plan.cp);
  d.m = static_cast<double>(m);
  return d;
}

double sum(const DataVolume& v) { return v.reduced + v.averaged + v.gathered; }

TEST(DataVolume, IsThatOfTheStage) {
  std::mt19937_64 engine(5);
  for (int i = 0; i < 300; ++i) {
    Drawn d = draw(engine);
    const double f = (d.n - 1) / d.n;
    const double p = d.plan.precision.parameter_bytes;
    const double g = d.plan.precision.gradient_bytes;
    const auto sent = [&](int zero) {
      d.plan.zero = zero;
      return sum(data_volume(d.plan, {.dense = d.psi, .trained = d.psi}));
    };
    EXPECT_DOUBLE_EQ(sent(0), 2 * f * g * d.psi);
    EXPECT_DOUBLE_EQ(sent(1), f * (g + p) * d.psi);
    EXPECT_DOUBLE_EQ(sent(2), f * (d.m * g + p) * d.psi);
    EXPECT_DOUBLE_EQ(sent(3), f * d.m * (2 * p + g) * d.psi);
    d.plan.batch.reduce_each_micro = true;
    EXPECT_DOUBLE_EQ(sent(0), 2 * f * g * d.m * d.psi);
    EXPECT_DOUBLE_EQ(sent(1), f * (d.m * g + p) * d.psi);
  }
}

TEST(DataVolume, AShardGroupGathersLessAndAveragesBetweenGroups) {
  Plan plan;
  plan.dp = 32;
  plan.zero = 3;
  plan.shard_group = 8;
  plan.batch.global = 32;
  const DataVolume v = data_volume(plan, {.dense = 1e9, .trained = 1e9});
  EXPECT_DOUBLE_EQ(v.gathered, 7.0 / 8 * 2 * 2e9);
  EXPECT_DOUBLE_EQ(v.reduced, 7.0 / 8 * 2e9);
  EXPECT_DOUBLE_EQ(v.averaged, 2 * 3.0 / 4 * 2e9 / 8);
}

TEST(DataVolume, ShardGroupsAverageOnceAStep) {
  Plan plan;
  plan.dp = 32;
  plan.zero = 3;
  plan.shard_group = 8;
  plan.batch.global = 32 * 4;
  const DataVolume v = data_volume(plan, {.dense = 1e9, .trained = 1e9});
  EXPECT_DOUBLE_EQ(v.reduced, 7.0 / 8 * 4 * 2e9) << "within the group after each of 4 passes";
  EXPECT_DOUBLE_EQ(v.averaged, 2 * 3.0 / 4 * 2e9 / 8);
}

TEST(DataVolume, ASecondCopyShortensTheGathersOfBackward) {
  Plan plan;
  plan.dp = 32;
  plan.zero = 3;
  plan.secondary_group = 8;
  plan.batch.global = 32;
  const DataVolume v = data_volume(plan, {.dense = 1e9, .trained = 1e9});
  EXPECT_DOUBLE_EQ(v.gathered, (31.0 / 32 + 7.0 / 8) * 2e9);
  EXPECT_DOUBLE_EQ(v.reduced, 31.0 / 32 * 2e9);
  EXPECT_EQ(v.averaged, 0);
}

TEST(DataVolume, ExpertsAreReducedOverTheirReplicasOnly) {
  Plan plan;
  plan.dp = 32;
  plan.ep = 8;
  plan.batch.global = 32;
  EXPECT_DOUBLE_EQ(sum(data_volume(plan, {.experts = 1e9, .trained_experts = 1e9})),
                   2 * 3.0 / 4 * 2e9);
  plan.ep = 32;
  EXPECT_EQ(sum(data_volume(plan, {.experts = 1e9, .trained_experts = 1e9})), 0);
}

// Domains of eight, 300 GB/s within a domain and 25 GB/s across.
Network network_of() {
  const auto machine = parse_machine(R"({"name": "x", "peak_tflops": {}, "sources": ["none"],
    "scale_up": {"name": "links", "gb_per_s_per_direction": 300, "domain": 8,
                 "topology": "switch"},
    "scale_out": {"gb_per_s_per_direction": 25}})",
                                     "x.json");
  EXPECT_TRUE(machine);
  const auto network = make_network(*machine);
  EXPECT_TRUE(network) << network.error().message();
  return *network;
}

TEST(DataTimes, APieceTakesWhatItsCollectiveTakes) {
  const Network network = network_of();
  Plan plan;
  plan.tp = 8;
  plan.dp = 16;
  plan.zero = 1;
  const auto times = data_times(plan, network);
  ASSERT_TRUE(times) << times.error().message();
  const auto group = place(16, 8, network);
  ASSERT_TRUE(group);
  const double piece = static_cast<double>(plan.overlap.bucket.value);
  const auto near = [&](const PieceTime& time, CollectiveKind kind) {
    const double exact = collective_time(network, kind, plan.overlap.bucket, *group).count();
    EXPECT_NEAR(time.of(piece), exact, 1e-9 * exact);
    EXPECT_NEAR(time.of(10 * piece), 10 * exact, 1e-9 * exact);
  };
  near(times->dense.reduce, CollectiveKind::reduce_scatter);
  near(times->dense.gather, CollectiveKind::all_gather);
  EXPECT_EQ(times->dense.average.of(piece), 0) << "one shard group";
}

TEST(DataTimes, AloneTakesNoTime) {
  const auto times = data_times(Plan{}, network_of());
  ASSERT_TRUE(times);
  EXPECT_EQ(times->dense.reduce.of(1e9), 0);
  EXPECT_EQ(times->dense.gather.of(1e9), 0);
  EXPECT_EQ(times->send.of(1e9), 0);
}

TEST(DataTimes, GroupsBeyondTheDomainNeedANetwork) {
  const auto machine = parse_machine(R"({"name": "x", "peak_tflops": {}, "sources": ["none"],
    "scale_up": {"name": "links", "gb_per_s_per_direction": 300, "domain": 8,
                 "topology": "switch"}})",
                                     "x.json");
  ASSERT_TRUE(machine);
  const auto network = make_network(*machine);
  ASSERT_TRUE(network) << network.error().message();
  Plan plan;
  plan.dp = 16;
  const auto times = data_times(plan, *network);
  ASSERT_FALSE(times);
  EXPECT_NE(times.error().what.find("scale_out"), std::string::npos);
}

}  // namespace
}  // namespace stepscope
