// SPDX-License-Identifier: Apache-2.0
#include "engine/train/train_plan_views.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "engine/nn/network/presets.h"

namespace stepscope {
namespace {

// A plan of gpt2-tiny.
TrainResult planned(int stage, int ranks, int rank = -1, ElementType type = ElementType::f32) {
  const nn::NetworkConfig network = *nn::network_preset("gpt2-tiny");
  auto plan = zero::make_plan(
      {.stage = stage, .rank = std::max(0, rank), .world_size = ranks, .type = type},
      nn::network_units(network), nn::training_passes(network, {}), nn::evaluation_passes(network));
  EXPECT_TRUE(plan);
  TrainResult r{.plan = *std::move(plan), .plan_of_one_rank = rank >= 0};
  r.setup.model = "gpt2-tiny";
  return r;
}

TEST(TrainPlan, ShardsOfAllRanksCoverEachUnitOnce) {
  const TrainResult r = planned(1, 7);
  const Json tree = train_plan_tree(r);
  const std::size_t units = r.plan->units.size();
  ASSERT_EQ(tree["shards"].size(), 7 * units);
  for (std::size_t unit = 0; unit < units; ++unit) {
    std::int64_t end = 0;
    for (std::size_t rank = 0; rank < 7; ++rank) {
      const Json& row = tree["shards"][rank * units + unit];
      EXPECT_EQ(row["rank"], rank);
      EXPECT_EQ(row["start"], end);
      end = row["end"].get<std::int64_t>();
      EXPECT_EQ(row["elements"], end - row["start"].get<std::int64_t>());
      EXPECT_EQ(row["optimizer_bytes"], 8 * row["elements"].get<std::int64_t>());
    }
    EXPECT_EQ(end, r.plan->units[unit].count);
  }
  std::int64_t elements = 0;
  for (const Json& rank : tree["ranks"]) {
    elements += rank["elements"].get<std::int64_t>();
    EXPECT_NEAR(rank["saved_share"].get<double>(), 6.0 / 7, 1e-5);
  }
  EXPECT_EQ(elements, tree["setup"]["parameters"]);
}

TEST(TrainPlan, StageZeroSavesNothing) {
  for (const Json& row : train_plan_tree(planned(0, 4))["shards"]) {
    EXPECT_EQ(row["start"], 0);
    EXPECT_EQ(row["saved_share"], 0);
  }
}

// 1 - own / all; bf16 has master weights.
TEST(TrainPlan, OneRankIsTheOneAskedFor) {
  const TrainResult r = planned(3, 1024, 1023, ElementType::bf16);
  const Json tree = train_plan_tree(r);
  ASSERT_EQ(tree["ranks"].size(), 1U);
  EXPECT_EQ(tree["ranks"][0]["rank"], 1023);
  EXPECT_EQ(tree["ranks"][0]["optimizer_bytes"],
            12 * tree["ranks"][0]["elements"].get<std::int64_t>());
  EXPECT_TRUE(tree["warnings"].empty());
  const std::string text = train_plan_text(r);
  EXPECT_NE(text.find("Plan of rank 1023 of 1024"), std::string::npos) << text;
  EXPECT_NE(text.find("99.9 %"), std::string::npos) << text;
}

TEST(TrainPlan, TooManyRowsAreThoseOfOneRankAndSaySo) {
  const Json tree = train_plan_tree(planned(3, 1 << 20));
  EXPECT_EQ(tree["ranks"].size(), 1U);
  ASSERT_EQ(tree["warnings"].size(), 1U);
  EXPECT_NE(tree["warnings"][0].get<std::string>().find("--plan-rank R"), std::string::npos);
  const std::string few = train_plan_text(planned(3, 1024));
  EXPECT_NE(few.find("--json FILE has all"), std::string::npos) << few;
  EXPECT_LT(std::ranges::count(few, '\n'), 80);
  EXPECT_EQ(train_plan_text(planned(3, 4)).find("more:"), std::string::npos);
}

// Both units are multiples of 4 * 16 elements.
TEST(TrainPlan, FreePlacesOfAPoolAreNoPadding) {
  for (const Json& row : train_plan_tree(planned(3, 4))["memory"]) {
    EXPECT_EQ(row["padding_bytes"], 0) << row["name"];
    const int free = row["name"] == "gathered units" ? 131'584 * 4 : 0;
    EXPECT_EQ(row["unused_bytes"], free) << row["name"];
  }
  const std::string text = train_plan_text(planned(3, 4));
  EXPECT_NE(text.find("free at the peak"), std::string::npos) << text;
  EXPECT_EQ(text.find("padding"), std::string::npos) << text;
}

TEST(TrainPlan, TablesHaveARowAShard) {
  const auto files = csv_files(train_plan_tables(train_plan_tree(planned(2, 3))));
  ASSERT_GE(files.size(), 2U);
  EXPECT_EQ(files[0].name, "shards.csv");
  EXPECT_TRUE(
      files[0].text.starts_with("rank,unit,start,end,elements,optimizer_bytes,saved_share"));
}

}  // namespace
}  // namespace stepscope
