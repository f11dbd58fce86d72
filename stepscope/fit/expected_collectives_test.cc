// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/expected_collectives.h"

#include <gtest/gtest.h>

#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/time/collective_cost.h"

namespace stepscope {
namespace {

using Kind = CollectiveKind;

Network network() { return *make_network(*machine_named("h100_sxm_80gb")); }  // domains of 8

struct Job {
  Collectives collectives;

  CollectiveRow& add(Kind kind, std::vector<int> ranks, std::int64_t bytes) {
    CollectiveRow row;
    row.kind = kind;
    row.group_size = static_cast<int>(ranks.size());
    row.bytes = Bytes{bytes};
    row.count = 10;
    row.duration = Ns{5'000'000};
    row.groups.push_back(static_cast<std::uint32_t>(collectives.matches.groups.size()));
    collectives.matches.groups.push_back(
        {.name = "g", .description = {}, .ranks = std::move(ranks)});
    return collectives.rows.emplace_back(row);
  }
};

double one_call(Kind kind, std::int64_t bytes, const GroupPlacement& group) {
  return collective_time(network(), kind, Bytes{bytes}, group).count();
}

TEST(ExpectedCollectives, IsTheTimeOfThatCollectiveForEachCall) {
  Job job;
  job.add(Kind::all_reduce, {0, 1, 2, 3}, 1 << 26);
  const auto rows = expected_collectives(job.collectives, network(), 8);
  ASSERT_EQ(rows.size(), 1U);
  const double one = one_call(Kind::all_reduce, 1 << 26, *place(4, 1, network()));
  EXPECT_NEAR(rows[0].expected, 10 * one, 1e-15);
  EXPECT_EQ(rows[0].measured, 5e-3);
  EXPECT_TRUE(rows[0].with_wait) << "nothing was split";
}

TEST(ExpectedCollectives, TransfersAreHeldAgainstAsManyCalls) {
  Job job;
  CollectiveRow& row = job.add(Kind::all_gather, {0, 8, 16, 24}, 1 << 26);
  row.split = 4;
  row.transfer = Ns{1'000'000};
  const auto rows = expected_collectives(job.collectives, network(), 64);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].calls, 4U);
  EXPECT_EQ(rows[0].measured, 1e-3);
  EXPECT_FALSE(rows[0].with_wait);
  EXPECT_NEAR(rows[0].expected, 4 * one_call(Kind::all_gather, 1 << 26, *place(4, 8, network())),
              1e-15);
}

GroupPlacement placed(Kind kind, std::vector<int> ranks, std::optional<int> world = {}) {
  Job job;
  const CollectiveRow row = job.add(kind, std::move(ranks), 1);
  return placement_of(row, job.collectives.matches, network(), world)
      .value_or(PlacedRow{.group = {.size = -1}})
      .group;
}

TEST(ExpectedCollectives, RanksTellWhereAGroupLies) {
  EXPECT_EQ(placed(Kind::all_reduce, {0, 2, 4, 6}).domains, 1);
  EXPECT_EQ(placed(Kind::all_reduce, {7, 8}).domains, 2) << "neighbours on two nodes";
  EXPECT_EQ(placed(Kind::all_reduce, {0, 1, 8, 9}).members, 2);
  EXPECT_EQ(placed(Kind::all_reduce, {0, 1, 8}).size, -1) << "uneven";
  EXPECT_EQ(placed(Kind::send_recv, {0, 8, 16, 24}).size, 2);
}

TEST(ExpectedCollectives, SizesTellWhereRanksAreNotListed) {
  CollectiveRow row;
  row.kind = Kind::all_reduce;
  row.group_size = 4;
  EXPECT_EQ(placement_of(row, {}, network(), 8)->group.members, 4) << "one node";
  EXPECT_FALSE(placement_of(row, {}, network(), 64));
  row.group_size = 64;
  EXPECT_EQ(placement_of(row, {}, network(), 64)->group.domains, 8);
  EXPECT_FALSE(placement_of(row, {}, network(), std::nullopt));
}

TEST(ExpectedCollectives, WhatHasNoSizeOrKindHasNoExpectation) {
  Job job;
  job.add(Kind::unknown, {0, 1}, 1 << 20);
  job.add(Kind::barrier, {0, 1}, 1 << 20);
  job.add(Kind::all_reduce, {0, 1}, 1 << 20).bytes.reset();
  job.add(Kind::all_reduce, {0}, 1 << 20);
  EXPECT_TRUE(expected_collectives(job.collectives, network(), 64).empty());
}

}  // namespace
}  // namespace stepscope
