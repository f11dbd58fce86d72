// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/stacks/stacks.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "stepscope/base/scratch_test_folder.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

std::string file_with(const std::string& name, const std::string& text) {
  static const test::Folder folder;
  std::string path = folder.path / name;
  std::ofstream(path) << text;
  return path;
}

const std::string& profile() {
  static const std::string path =
      file_with("stacks_test.collapsed", "main;train;forward 30\nmain;train;backward 70\n");
  return path;
}

TEST(Stacks, OwnWhatTheyTell) {
  auto result = stacks({.profiles = {profile()}});
  ASSERT_TRUE(result) << result.error().message();
  const StacksResult kept = std::move(*result);
  EXPECT_EQ(kept.summary.weight, 100);
  EXPECT_EQ(kept.profile.inputs.size(), 1U);
  EXPECT_GT(kept.flame.size(), 0U);
  EXPECT_FALSE(kept.trace);
}

TEST(Stacks, AnEarlierProfileStandsBesideThem) {
  const std::string earlier = file_with("stacks_test_earlier.collapsed", "main;train;forward 50\n");
  const auto result = stacks({.profiles = {profile()}, .against = earlier});
  ASSERT_TRUE(result) << result.error().message();
  ASSERT_TRUE(result->before);
  EXPECT_EQ(result->before->summary.weight, 50);
  const auto lost = stacks({.profiles = {profile()}, .against = "none.collapsed"});
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->failures.size(), 1U);
}

TEST(Stacks, AProfileThatCannotBeReadIsAFailureWhileAnotherCan) {
  const auto result = stacks({.profiles = {"none.collapsed", profile()}});
  ASSERT_TRUE(result);
  ASSERT_EQ(result->failures.size(), 1U);
  EXPECT_EQ(result->failures[0].file, "none.collapsed");
  const auto none = stacks({.profiles = {"none.collapsed"}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().file, "none.collapsed");
}

// No table without a name.
std::vector<std::string> one(const std::string& table) {
  return table.empty() ? std::vector<std::string>() : std::vector{table};
}

TEST(Stacks, SayWhereLinesOfInstructionsComeFrom) {
  const std::string fetch = "T;PartitionedParameterCoordinator.fetch_sub_module ";
  const std::string path = file_with("stacks_test_lasti.txt",
                                     fetch + "[0x36a] 5\n" + fetch + "[0xfff] 1\nT;mine [0x1] 1\n");
  const auto remarks = [&](const std::string& table) {
    const auto result = stacks({.profiles = {path}, .lasti = one(table)});
    EXPECT_TRUE(result) << result.error().message();
    return say_all(result->warnings);
  };
  const std::string own = "deepspeed-0.16.7-cpython3.11";
  ASSERT_EQ(remarks("").size(), 1U);
  EXPECT_NE(remarks("")[0].find(own), std::string::npos);
  EXPECT_EQ(remarks(own),
            (std::vector<std::string>{
                "the lines of 1 of 3 frames with a CPython instruction are from the table " + own +
                    ": they hold if the profile is of deepspeed 0.16.7 on CPython 3.11",
                "the table of instructions tells no line for 2 of 3 frames",
                "frames of functions in the table at instructions that it does not have: 1; the "
                "profile may be of other versions"}));
  const std::string nameless = file_with("stacks_test_table.tsv", "m.py\tmine\t0x0\t0x9\t4\n");
  EXPECT_NE(remarks(nameless)[0].find("of its versions"), std::string::npos);
  EXPECT_FALSE(stacks({.profiles = {path}, .lasti = {"none.tsv"}}));
}

TEST(Stacks, TablesOfSeveralPackagesAreJoinedInAnyOrder) {
  const std::string path = file_with(
      "stacks_test_packages.txt",
      "T;PartitionedParameterCoordinator.fetch_sub_module [0x36a] 5\nT;Module._call [0x2] 1\n");
  const std::string own = "deepspeed-0.16.7-cpython3.11";
  const std::string rows = "nn/module.py\tModule._call\t0x0\t0x9\t41\n";
  const std::string other = file_with("stacks_test_torch.tsv",
                                      "# sources: torch 2.6\n# interpreter: CPython 3.11\n" + rows);
  for (const std::vector<std::string>& tables :
       {std::vector{own, other}, std::vector{other, own}}) {
    const auto result = stacks({.profiles = {path}, .lasti = tables});
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(result->phases.resolved, 2U);
    EXPECT_EQ(result->lasti, tables[0] + ", " + tables[1]);
    const std::string said = say_all(result->warnings)[0];
    EXPECT_NE(said.find("deepspeed 0.16.7"), std::string::npos) << said;
    EXPECT_NE(said.find("torch 2.6"), std::string::npos) << said;
    EXPECT_NE(said.find(" on CPython 3.11"), std::string::npos) << said;
    bool throttle = false;  // by the rules of DeepSpeed 0.16.7, which name it by its line
    for (const HostPhase& phase : result->rules.phases)
      throttle = throttle || phase.label.find("throttle") != std::string::npos;
    EXPECT_TRUE(throttle);
  }
  const std::string newer =
      file_with("stacks_test_newer.tsv", "# interpreter: CPython 3.12\n" + rows);
  const auto mixed = stacks({.profiles = {path}, .lasti = {own, newer}});
  ASSERT_FALSE(mixed);
  EXPECT_NE(mixed.error().message().find("CPython 3.11 and of CPython 3.12"), std::string::npos);
}

TEST(Stacks, RulesOfOneVersionThatWouldTellMoreAreNamed) {
  const std::string lines = "T;fetch_sub_module (deepspeed/runtime/zero/x.py:";
  const auto remarks = [](const std::string& path, const std::string& table) {
    const auto result = stacks({.profiles = {path}, .lasti = one(table)});
    EXPECT_TRUE(result) << result.error().message();
    return say_all(result->warnings);
  };
  const std::string own = "deepspeed-0.16.7-cpython3.11";
  const std::string of_lines = file_with(
      "stacks_test_lines.txt", lines + "412);__all_gather_params (x.py:1) 20\n" + lines + "9) 1\n");
  ASSERT_EQ(remarks(of_lines, "").size(), 1U);
  EXPECT_NE(remarks(of_lines, "")[0].find("--lasti " + own), std::string::npos);
  EXPECT_TRUE(remarks(of_lines, own).empty());
  EXPECT_TRUE(remarks(file_with("stacks_test_other.txt", lines + "9) 1\n"), "").empty());
}

std::string trace_of(int rank) {
  const std::string number = std::to_string(rank);
  return file_with("stacks_test_rank_" + number + ".json",
                   R"({"schemaVersion":1,"distributedInfo":{"rank":)" + number +
                       R"(,"world_size":8},"traceEvents":[{"ph":"X","cat":"user_annotation",)"
                       R"("name":"ProfilerStep#1","pid":1,"tid":1,"ts":0,"dur":100},)"
                       R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":10,)"
                       R"("dur":50}]})");
}

TEST(Stacks, RanksAreOneForAllOrOneAProfile) {
  const std::string second = file_with("stacks_test_second.collapsed", "main;train 5\n");
  StacksRequest request{.profiles = {profile(), second},
                        .traces = {.inputs = {trace_of(3), trace_of(5)}}};
  const auto ranks = [&request] {
    std::vector<int> found;
    const auto result = stacks(request);
    EXPECT_TRUE(result) << result.error().message();
    if (result && result->trace)
      for (const ProfileBesideTrace& p : result->trace->profiles)
        found.push_back(result->trace->job.ranks[p.rank].rank);
    return found;
  };
  EXPECT_EQ(ranks(), std::vector<int>{});  // no name shows the rank
  request.ranks = {3};
  EXPECT_EQ(ranks(), (std::vector<int>{3, 3}));
  request.ranks = {5, 3};
  EXPECT_EQ(ranks(), (std::vector<int>{5, 3}));
  request.ranks = {1, 2, 3};
  EXPECT_FALSE(stacks(request));
}

}  // namespace
}  // namespace stepscope
