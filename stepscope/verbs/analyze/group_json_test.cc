// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/group_json.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(GroupJson, AGroupHasItsRatesBesideItsSiblings) {
  JobResult job;
  job.collectives.matches.groups = {
      {.name = "tp0", .description = "mesh_tp", .ranks = {0, 1}, .size = 2}, {.name = "dp0"}};
  job.collectives.dimension_of = {Dimension::tp, Dimension::unknown};
  job.traffic.rates = {{.group = 0,
                        .kind = CollectiveKind::all_reduce,
                        .bytes = Bytes{4000},
                        .count = 3,
                        .transfer = Ns{1000},
                        .busbw = ByteRate{4e9},
                        .of_siblings = 0.25},
                       {.group = 0, .kind = CollectiveKind::all_gather, .bytes = Bytes{80}},
                       {.group = 1, .kind = CollectiveKind::all_reduce, .bytes = Bytes{9}}};
  const Json groups = groups_json(job.collectives, job.traffic.rates);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0]["description"], "mesh_tp");
  EXPECT_EQ(groups[0]["dimension"], "tp");
  EXPECT_EQ(groups[0]["ranks"], Json({0, 1}));
  ASSERT_EQ(groups[0]["rates"].size(), 2U);
  EXPECT_EQ(groups[0]["rates"][0]["name"], "all_reduce");
  EXPECT_EQ(groups[0]["rates"][0]["transfer_ns"], 1000);
  EXPECT_EQ(groups[0]["rates"][0]["busbw_gb_per_s"], 4.0);
  EXPECT_EQ(groups[0]["rates"][0]["of_siblings"], 0.25);
  EXPECT_TRUE(groups[0]["rates"][1]["of_siblings"].is_null());
  EXPECT_TRUE(groups[1]["size"].is_null());
  EXPECT_TRUE(groups[1]["description"].is_null());
}

}  // namespace
}  // namespace stepscope
