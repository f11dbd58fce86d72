// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/message_model.h"

#include <gtest/gtest.h>

#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/time/collective_cost.h"

namespace stepscope {
namespace {

using Kind = CollectiveKind;

CollectiveMatches matches_of(std::vector<int> ranks) {
  CollectiveMatches matches;
  matches.groups.push_back({.name = "dp", .description = {}, .ranks = std::move(ranks)});
  return matches;
}

TEST(MessageModel, IsTheCostOfTheCollectiveWhereTheGroupLies) {
  const Machine machine = *machine_named("h100_sxm_80gb");
  const Network network = *make_network(machine);
  const MessageModel model = message_model(machine, 16);
  const CollectiveMatches inside = matches_of({0, 1, 2, 3});
  const CollectiveMatches across = matches_of({0, 8});
  for (const Bytes bytes : {Bytes{1 << 10}, Bytes{1 << 26}}) {
    const Seconds one =
        collective_time(network, Kind::reduce_scatter, bytes, *place(4, 1, network));
    EXPECT_NEAR(*model(inside, Kind::reduce_scatter, 0, bytes), one.count() * 1e9, 1e-3);
    EXPECT_GT(*model(across, Kind::all_gather, 0, bytes),
              *model(matches_of({0, 1}), Kind::all_gather, 0, bytes));
  }
}

// A ring passes a message on n - 1 times.
TEST(MessageLatencyModel, IsThePartOfTheRounds) {
  const Machine machine = *machine_named("h100_sxm_80gb");
  const MessageModel latency = message_latency_model(machine, 16);
  const MessageModel time = message_model(machine, 16);
  const CollectiveMatches two = matches_of({0, 1});
  const CollectiveMatches four = matches_of({0, 1, 2, 3});
  const Bytes large{1 << 28};
  EXPECT_GT(*latency(two, Kind::all_gather, 0, large), 0);
  EXPECT_LT(*latency(two, Kind::all_gather, 0, large),
            0.1 * *time(two, Kind::all_gather, 0, large));
  EXPECT_EQ(*latency(two, Kind::all_gather, 0, large),
            *latency(two, Kind::all_gather, 0, Bytes{2 * large.value}));
  EXPECT_NEAR(*latency(four, Kind::all_gather, 0, large),
              3 * *latency(two, Kind::all_gather, 0, large), 1e-6);
}

TEST(MessageModel, SaysNothingOfGroupsItCannotPlace) {
  const MessageModel model = message_model(*machine_named("h100_sxm_80gb"), 16);
  EXPECT_FALSE(model(matches_of({}), Kind::all_reduce, 0, Bytes{1 << 20}));
  EXPECT_FALSE(model(matches_of({0, 1}), Kind::all_reduce, 7, Bytes{1 << 20}));
}

}  // namespace
}  // namespace stepscope
