// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/gpu_views.h"

#include <gtest/gtest.h>

namespace stepscope {

namespace {

TEST(ClockJson, HasTheFiguresOfBothSides) {
  EXPECT_TRUE(clock_json(std::nullopt).is_null());
  ClockCause cause{.verdict = ClockVerdict::part,
                   .clock_mhz = 1200,
                   .peers_mhz = 1980,
                   .peers = 7,
                   .reasons = {{ClockReason::hw_thermal_slowdown, 0.9, 0.0},
                               {ClockReason::sw_power_cap, 0.2, std::nullopt}},
                   .power_watts = 400,
                   .temperature_celsius = 88,
                   .sentence = msg::plain("It is hot")};
  const Json json = clock_json(cause);
  EXPECT_EQ(json["verdict"], "part");
  EXPECT_EQ(json["sm_clock_mhz"], 1200);
  EXPECT_EQ(json["peers_sm_clock_mhz"], 1980);
  EXPECT_EQ(json["peers"], 7);
  EXPECT_EQ(json["reasons"][0]["reason"], "hw_thermal_slowdown");
  EXPECT_EQ(json["reasons"][0]["peers_share"], 0.0);
  EXPECT_TRUE(json["reasons"][1]["peers_share"].is_null());
  EXPECT_EQ(json["power_watts"], 400);
  EXPECT_TRUE(json["peers_power_watts"].is_null());
  EXPECT_EQ(json["temperature_celsius"], 88);
  EXPECT_TRUE(json["peers_temperature_celsius"].is_null());
  EXPECT_EQ(json["sentence"], "It is hot.");
  EXPECT_EQ(json.size(), 10U);
}

TEST(GpuReadingsJson, HidesFiguresOfSparseReadings) {
  JobResult job;
  EXPECT_TRUE(gpu_readings_json(job.gpus, job.ranks).is_null());
  RankResult& r = job.ranks.emplace_back();
  r.rank = 3;
  r.steps.emplace_back().index = 7;
  r.steps.emplace_back().index = 8;
  GpuEvidence gpus;
  gpus.logs.emplace_back().path = "smi.csv";
  GpuOfRank& gpu = gpus.ranks.emplace_back();
  gpu.rank = 3;
  for (const int covered : {60, 40}) {
    GpuState& s = gpu.steps.emplace_back();
    s.span = Ns{100};
    s.covered = Ns{covered};
    s.readings = 1;
    s.sm_clock_mhz.add(1980, s.covered);
    gpu.whole.add(s);
  }
  job.gpus = gpus;
  const Json json = gpu_readings_json(job.gpus, job.ranks);
  EXPECT_TRUE(json["logs"][0]["zone_ns"].is_null());
  EXPECT_TRUE(json["logs"][0]["zone_source"].is_null());
  const Json& rank = json["ranks"][0];
  EXPECT_EQ(rank["steps"][0]["index"], 7);
  EXPECT_EQ(rank["steps"][0]["sm_clock_mhz"]["mean"], 1980);
  EXPECT_EQ(rank["steps"][1]["covered"], 0.4);
  EXPECT_TRUE(rank["steps"][1]["sm_clock_mhz"]["mean"].is_null());
  EXPECT_EQ(rank["whole"]["covered"], 0.5);
  EXPECT_EQ(rank["whole"]["sm_clock_mhz"]["mean"], 1980);
}

}  // namespace

}  // namespace stepscope
