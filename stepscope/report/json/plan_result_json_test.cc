// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/plan_result_json.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "stepscope/report/sentences/verb_test_results.h"

namespace stepscope {
namespace {

using namespace test;

TEST(PlanJson, CountsWhatWasRejectedToTheLastOne) {
  Searched s;
  s.report.found.best = {found_plan(8, 3, 0.5)};
  const Json tree = plan_tree(s.report);
  std::int64_t sum = tree["feasible"].get<std::int64_t>();
  for (const auto& [reason, count] : tree["rejected"].items()) sum += count.get<std::int64_t>();
  EXPECT_EQ(sum, tree["candidates"].get<std::int64_t>());
}

TEST(PlanJson, HasTheGainsOverThePlanOfOnesOwn) {
  Searched s;
  s.report.found.best = {found_plan(8, 3, 0.5)};
  s.report.against = {own_plan(4, 2.9, 1.6)};
  const Json tree = plan_tree(s.report)["against"][0];
  EXPECT_EQ(tree["label"], "tp=4");
  EXPECT_EQ(tree["faster_plans"], 12'345);
  EXPECT_EQ(tree["gains"][0]["term"], "bubble");
  double gains = 0;
  for (const Json& g : tree["gains"]) gains += g["ns"].get<double>();
  EXPECT_NEAR(gains, 1e9, 1);
}

TEST(PlanJson, HoldsThePlanOfOnesOwnAgainstTheFastestOnAsManyDevices) {
  Searched s;
  FoundPlan larger = found_plan(8, 1, 0.5);
  larger.plan.devices = 128;
  s.report.request.devices = {64, 128};
  s.report.found.best = {larger, found_plan(8, 3, 0.5)};
  s.report.found.by_devices = {found_plan(8, 3, 0.5), larger};
  s.report.against = {own_plan(4, 3, 1)};
  EXPECT_EQ(plan_tree(s.report)["against"][0]["gains"].size(), 1U);
}

TEST(PlanJson, SaysWhetherThePlanOfOnesOwnFits) {
  Searched s;
  s.report.machine.memory = Bytes{43'000'000'000};
  s.report.request.memory_headroom = 0.1;
  s.report.found.best = {found_plan(8, 3, 0.5)};
  s.report.against = {own_plan(4, 2, 0.5), own_plan(4, 3, 0.5)};
  s.report.against[0].cost->memory.bytes[0] = 45e9;
  const Json tree = plan_tree(s.report);
  EXPECT_FALSE(tree["against"][0]["fits"].get<bool>());
  EXPECT_TRUE(tree["against"][1]["fits"].get<bool>());
  EXPECT_FALSE(tree["against"][1]["allowed"].get<bool>());
}

TEST(PlanJson, HasNullForWhatIsNot) {
  Searched s;
  s.report.found.best = {found_plan(8, 3, 0.5)};
  s.report.against.push_back(cannot_run());
  EXPECT_TRUE(plan_tree(s.report)["against"][0]["step_time_ns"].is_null());
  s.report.found.best.clear();
  s.report.found.smallest_devices = 256;
  EXPECT_EQ(plan_tree(s.report)["smallest_devices"], 256);
}

}  // namespace
}  // namespace stepscope
