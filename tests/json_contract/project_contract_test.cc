// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/json_contract/documented.h"
#include "tests/program/program.h"

namespace stepscope::contract {
namespace {

TEST(JsonContract, HoldsForAProjection) {
  const std::string traces = STEPSCOPE_SOURCE_DIR "/examples/train_tiny/traces/ddp";
  const auto run = program::run(
      {"project", traces, "--gpus", "8", "--recorded", "global-batch=16", "--json", "-"});
  expect_contract("stepscope project", run, {"inputs.cut_at", "inputs.error"});
  const auto json = nlohmann::json::parse(run.printed);
  EXPECT_EQ(json["projected"]["dp"], 8);
  EXPECT_EQ(json["recorded"]["micro_batch"], 8) << "the lookups of tokens tell it";
  EXPECT_LE(json["step"]["low_ns"], json["step"]["ns"]);
  EXPECT_GE(json["step"]["high_ns"], json["step"]["ns"]);
  double sum = json["recorded_step_ns"];
  for (const auto& change : json["changes"]) sum += change["ns"].get<double>();
  EXPECT_NEAR(sum, json["step"]["ns"].get<double>(), 1) << "the parts sum to the step";
  const auto brief = program::run({"project", traces, "--gpus", "8", "--brief", "--json", "-"});
  EXPECT_EQ(nlohmann::json::parse(brief.printed)["step"], json["step"]);
  // What the traces do not carry is refused with what would help.
  for (const auto& [words, remedy] :
       {std::pair<std::vector<std::string>, const char*>{{"--tp", "2"}, "--model"},
        {{"--global-batch", "60"}, "multiple"},
        {{"--recorded", "global-batch=60", "--gpus", "8"}, "micro-batch=N"},
        {{"--gpus", "7", "--tp", "2"}, "multiple"},
        {{"--recorded", "tp=3", "--gpus", "8"}, "--recorded"}}) {
    std::vector<std::string> all = {"project", traces};
    all.insert(all.end(), words.begin(), words.end());
    const auto refused = program::run(all);
    EXPECT_EQ(refused.exit_code, 2) << words.front();
    EXPECT_NE(refused.errors.find(remedy), std::string::npos) << refused.errors;
  }
  EXPECT_EQ(program::run({"project", traces}).exit_code, 2);
}

}  // namespace
}  // namespace stepscope::contract
