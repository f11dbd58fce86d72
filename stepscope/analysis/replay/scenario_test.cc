// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/scenario.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(Scenario, NamesAreReadBack) {
  for (const char* text : {"no_waiting",
                           "communication_free",
                           "communication_free:all_gather",
                           "bandwidth:2",
                           "bandwidth:reduce_scatter:1.5",
                           "latency:0.5",
                           "compute:matmul:1.3",
                           "compute:2",
                           "host:4",
                           "host_free",
                           "data_free",
                           "allocator_free",
                           "collector_free",
                           "profiler_free",
                           "sync_free",
                           "copies_free",
                           "device_alone",
                           "rank_as_peers@3",
                           "host:2@0",
                           "compute:matmul:0.5@1",
                           "ranks_balanced",
                           "bucket:25MB",
                           "bucket:64KiB",
                           "stages_balanced",
                           "prefetch:0",
                           "prefetch:3",
                           "prefetch:1@2"}) {
    const auto scenario = parse_scenario(text);
    ASSERT_TRUE(scenario) << text;
    EXPECT_EQ(name_of(*scenario), text);
  }
  for (const char* text : {"",
                           "no",
                           "bandwidth",
                           "bandwidth:0",
                           "bandwidth:-1",
                           "bandwidth:nan",
                           "bandwidth:inf",
                           "no_waiting:2",
                           "rank_as_peers",
                           "rank_as_peers@x",
                           "rank_as_peers:3",
                           "no_waiting@",
                           "compute:all_gather:2",
                           "host_free:",
                           "compute:matmul",
                           "bucket",
                           "bucket:",
                           "bucket:0",
                           "bucket:1XB",
                           "bucket:1MB:2",
                           "bucket:1MB@0",
                           "prefetch",
                           "prefetch:-1",
                           "prefetch:1.5",
                           "prefetch:x"})
    EXPECT_FALSE(parse_scenario(text)) << text;
}

TEST(Scenarios, TheHelpNamesEachWithAnExampleThatIsTaken) {
  const std::vector<ScenarioHelp> rows = scenario_help();
  ASSERT_EQ(rows.size(), static_cast<std::size_t>(Change::prefetch) + 1);
  const auto unknown = parse_scenario("faster");
  ASSERT_FALSE(unknown);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto parsed = parse_scenario(rows[i].example);
    ASSERT_TRUE(parsed) << rows[i].example;
    EXPECT_EQ(static_cast<std::size_t>(parsed->change), i);
  }
  EXPECT_NE(unknown.error().hint.find("stepscope list changes"), std::string::npos);
  EXPECT_NE(parse_scenario("bandwith:2").error().hint.find("did you mean bandwidth"),
            std::string::npos);
  EXPECT_EQ(parse_scenario("bandwidth").error().hint,
            "write bandwidth[:COLLECTIVE]:FACTOR[@RANK], as bandwidth:2");
}

}  // namespace
}  // namespace stepscope
