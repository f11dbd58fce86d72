// SPDX-License-Identifier: Apache-2.0
// Merges the bundled example into one trace of either format and reads it back. Also checks that
// the comparison detects differences.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/program/program.h"
#include "tests/roundtrip/chrome_file.h"
#include "tests/roundtrip/file_text.h"
#include "tests/roundtrip/same_answers.h"

namespace stepscope::roundtrip {
namespace {

using nlohmann::json;

const std::filesystem::path traces =
    std::filesystem::path(STEPSCOPE_SOURCE_DIR) / "examples" / "train_tiny" / "traces";

class Merged : public testing::TestWithParam<const char*> {};

TEST_P(Merged, FileGivesTheSameAnswers) {
  for (const char* name : {"merged.json.gz", "merged.pftrace", "merged.perfetto-trace.gz"}) {
    const program::ScratchFolder scratch;
    const std::string merged = scratch.file(name);
    const auto original = program::analyze({traces / GetParam()}, {"--perfetto", merged});
    ASSERT_EQ(original.outcome.exit_code, 0) << original.outcome.errors;
    const auto again = program::analyze({merged});
    ASSERT_EQ(again.outcome.exit_code, 0) << again.outcome.errors;
    ASSERT_EQ(original.json.at("ranks").size(), 2U);
    EXPECT_EQ(differences(original.json, again.json), std::vector<std::string>{}) << name;
    for (const auto& rank : original.json.at("ranks")) EXPECT_FALSE(rank.at("steps").empty());
  }
}

TEST_P(Merged, FileIsShownAsItIs) {
  const program::ScratchFolder scratch;
  const std::string merged = scratch.file("merged.json.gz");
  const auto outcome =
      program::run({"analyze", (traces / GetParam()).string(), "--perfetto", merged});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  const ChromeFile file = inspect(merged);
  EXPECT_EQ(file.problems, std::vector<std::string>{});
  EXPECT_GT(file.slices, 1000U);
}

TEST_P(Merged, FileIsTheSameWithoutCompression) {
  const program::ScratchFolder scratch;
  const std::string trace = (traces / GetParam()).string();
  for (const std::string name : {"merged.json", "merged.pftrace"}) {
    for (const std::string& written : {name, name + ".gz"})
      ASSERT_EQ(program::run({"analyze", trace, "--perfetto", scratch.file(written)}).exit_code, 0);
    EXPECT_EQ(file_text(scratch.file(name)), file_text(scratch.file(name + ".gz")));
  }
}

INSTANTIATE_TEST_SUITE_P(Example, Merged, testing::Values("ddp", "fsdp"));

TEST(Differences, AreNamedByTheirPlace) {
  const json left =
      json::parse(R"({"inputs": 1, "ranks": [{"rank": 0, "wall_ns": 5, "share": 0.5}]})");
  json right = left;
  right["inputs"] = 2;
  EXPECT_TRUE(differences(left, right).empty());
  right["ranks"][0]["share"] = 0.5 * (1 + 1e-12);
  EXPECT_TRUE(differences(left, right).empty());
  right["ranks"][0]["wall_ns"] = 6;
  EXPECT_EQ(differences(left, right), std::vector<std::string>{".ranks[0].wall_ns: 5 | 6"});
  right["ranks"].push_back(json::object());
  right["ranks"][0].erase("share");
  EXPECT_EQ(differences(left, right).size(), 3U);
  EXPECT_EQ(differences(left, right, 2).size(), 2U);
}

TEST(Differences, OfTheReplayThatACulpritNamesAreAllButItsFiles) {
  const auto answer = [](const std::string& culprit) {
    return json{{"answer", {{"culprit", culprit}, {"command", culprit}}}};
  };
  const json left = answer("to replay it: stepscope whatif a b.json --change data_free@0");
  EXPECT_TRUE(
      differences(left, answer("to replay it: stepscope whatif /c --change data_free@0")).empty());
  for (const char* other : {"to replay it: stepscope whatif a b.json --change data_free@1",
                            "not to replay it: stepscope whatif a b.json --change data_free@0",
                            "to replay it: stepscope whatif a b.json"})
    EXPECT_EQ(differences(left, answer(other)).size(), 1U) << other;
}

ChromeFile inspect_text(const std::string& text) {
  const program::ScratchFolder scratch;
  std::ofstream(scratch.file("a.json")) << text;
  return inspect(scratch.file("a.json"));
}

constexpr const char* names = R"({"ph":"M","name":"process_name","pid":1,"tid":0},)"
                              R"({"ph":"M","name":"thread_name","pid":1,"tid":7},)";

TEST(ChromeFiles, OfNestedSlicesAndWholeFlowsAreFine) {
  const ChromeFile file =
      inspect_text(std::string(R"({"traceEvents":[)") + names +
                   R"({"ph":"X","cat":"kernel","pid":1,"tid":7,"ts":1.000,"dur":3.000},
         {"ph":"X","cat":"kernel","pid":1,"tid":7,"ts":1.000,"dur":1.000},
         {"ph":"X","cat":"cuda_runtime","pid":1,"tid":8,"ts":0.500,"dur":1.000},
         {"ph":"s","id":3,"pid":1,"tid":8,"ts":0.500},
         {"ph":"f","id":3,"pid":1,"tid":7,"ts":1.000}]})");
  EXPECT_EQ(file.problems, std::vector<std::string>{});
  EXPECT_EQ(file.slices, 3U);
  EXPECT_EQ(file.device_slices, 2U);
  EXPECT_EQ(file.flows, 1U);
}

TEST(ChromeFiles, OfOverlappingSlicesBrokenFlowsAndUnnamedRowsAreNot) {
  EXPECT_EQ(inspect_text("{").problems.size(), 1U);
  const ChromeFile file = inspect_text(
      R"({"traceEvents":[{"ph":"X","cat":"kernel","pid":1,"tid":7,"ts":1.000,"dur":3.000},
         {"ph":"X","cat":"kernel","pid":1,"tid":7,"ts":2.000,"dur":3.000},
         {"ph":"s","id":3,"pid":1,"tid":7,"ts":1.000},
         {"ph":"f","id":4,"pid":1,"tid":7,"ts":9.000}]})");
  ASSERT_EQ(file.problems.size(), 6U);
  EXPECT_NE(file.problems[0].find("overlap without nesting on pid 1 tid 7"), std::string::npos);
  EXPECT_EQ(file.problems[1], "flow 3 has no end");
  EXPECT_EQ(file.problems[2], "flow 4 has no start");
  EXPECT_EQ(file.problems[3], "flow 4 ends outside any slice");
  EXPECT_EQ(file.problems[4], "no thread_name for pid 1 tid 7");
  EXPECT_EQ(file.problems[5], "no process_name for pid 1 tid 7");
}

}  // namespace
}  // namespace stepscope::roundtrip
