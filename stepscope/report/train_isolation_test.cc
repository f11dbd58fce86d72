// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/train_isolation.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TrainIsolation example() {
  TrainIsolation isolation{.steps = 12};
  isolation.ranks = {{.both = Ns{100'000'001},
                      .exposed = Ns{10'000'000},
                      .compute = Ns{80'000'000},
                      .communication = Ns{30'000'000}},
                     {.both = Ns{100'000'000},
                      .exposed = Ns{35'000'000},
                      .compute = Ns{60'000'000},
                      .communication = Ns{30'000'000}}};
  return isolation;
}

TEST(TrainIsolation, AddsUpForEachRankAndForTheMean) {
  const TrainIsolation isolation = example();
  const Json json = isolation_tree(isolation);
  EXPECT_EQ(json["steps"], 12);
  EXPECT_EQ(json["both"]["mean_ns"], 100'000'000);
  EXPECT_EQ(json["compute"]["mean_ns"], 70'000'000);
  EXPECT_EQ(json["exposed"]["mean_ns"], 22'500'000);
  EXPECT_EQ(json["hidden_ns"], 7'500'000);
  EXPECT_EQ(json["contention_ns"], 7'500'000);
  EXPECT_EQ(json["ranks"][0]["hidden_ns"], 20'000'000);
  EXPECT_EQ(json["ranks"][0]["contention_ns"], 10'000'001);
  EXPECT_EQ(json["ranks"][1]["hidden_ns"], -5'000'000);
  EXPECT_EQ(json["ranks"][1]["contention_ns"], 5'000'000);
}

TEST(TrainIsolation, SaysItInWords) {
  const std::string text = isolation_text(example(), 200);
  EXPECT_NE(text.find("Overlap hides 25.0 % of the communication"), std::string::npos) << text;
  EXPECT_NE(text.find("computation takes 10.7 % longer than alone"), std::string::npos) << text;
  EXPECT_NE(text.find("computes 80.0 ms alone"), std::string::npos) << text;
  TrainIsolation waiting = example();
  for (TrainIsolation::Rank& rank : waiting.ranks) rank.exposed = Ns{40'000'000};
  const std::string waits = isolation_text(waiting, 200);
  EXPECT_NE(waits.find("hides nothing"), std::string::npos) << waits;
  EXPECT_NE(waits.find("10.0 ms longer than the communication"), std::string::npos) << waits;
  EXPECT_NE(waits.find("takes 14.3 % less than alone"), std::string::npos) << waits;
}

}  // namespace
}  // namespace stepscope
