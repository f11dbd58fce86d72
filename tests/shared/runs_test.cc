// SPDX-License-Identifier: Apache-2.0
// The collection matches its list of runs, and the answer to each run adds up.
#include <fstream>
#include <iostream>

#include "tests/program/program.h"
#include "tests/shared/raw_window.h"
#include "tests/shared/run_account.h"
#include "tests/shared/shared_data.h"

namespace stepscope::shared {
namespace {

using Runs = SharedData;

TEST_F(Runs, EveryFileOfTheListIsThere) {
  const auto listed = runs(root);
  ASSERT_FALSE(listed.empty());
  for (const TracedRun& run : listed) {
    EXPECT_FALSE(run.files.empty()) << run.name;
    for (const auto& file : run.files) {
      EXPECT_TRUE(std::filesystem::is_regular_file(file)) << run.name << ": " << file;
    }
  }
}

TEST_F(Runs, EveryNanosecondOfEachIsAccountedFor) {
  std::vector<RunAccount> accounts;
  for (const TracedRun& run : runs(root)) {
    accounts.push_back(account_for(run));
    const RunAccount& account = accounts.back();
    EXPECT_EQ(account.problems, std::vector<std::string>{}) << run.name;
    EXPECT_GT(account.ranks, 0U) << run.name;
    EXPECT_GT(account.events, 0U) << run.name;
  }
  std::cout << runs_table(accounts);
}

// The check detects each kind of error.
TEST(RankProblems, AreFoundInABrokenAnswer) {
  const auto good = nlohmann::json::parse(R"({
    "rank": 0, "window_start_ns": 0, "window_end_ns": 120,
    "phases": [{"phase": "forward", "steps": 1, "communication_ns": 0}],
    "steps": [{"index": 1, "wall_ns": 100, "budget_ns": {"compute": 60, "idle_host": 40},
               "phases_ns": {"forward": 100}}],
    "budget_ns": {"compute": 60, "idle_host": 40}, "phases_ns": {"forward": 100},
    "mean_budget_ns": {"compute": 60, "idle_host": 40},
    "outside_ns": {"before": 20, "between": 0, "after": 0},
    "gpu_window": {"start_ns": 20, "end_ns": 120, "busy_ns": 60, "idle_ns": 40, "compute_ns": 60,
                   "comm_ns": 0, "copy_ns": 0, "overlap_ns": 0},
    "kernels": [{"name": "k", "count": 2, "total_ns": 60, "min_ns": 20, "max_ns": 40}],
    "kernel_classes": [{"class": "matmul", "total_ns": 60}]})");
  EXPECT_EQ(rank_problems(good, 1), std::vector<std::string>{});
  const auto broken = [&](const char* pointer, int value) {
    auto bad = good;
    bad[nlohmann::json::json_pointer(pointer)] = value;
    return !rank_problems(bad, 1).empty();
  };
  EXPECT_TRUE(broken("/steps/0/budget_ns/compute", 61));
  EXPECT_TRUE(broken("/steps/0/phases_ns/forward", 99));
  EXPECT_TRUE(broken("/budget_ns/compute", 61));
  EXPECT_TRUE(broken("/phases/0/communication_ns", 1));
  EXPECT_TRUE(broken("/outside_ns/before", 21));
  EXPECT_TRUE(broken("/gpu_window/idle_ns", 41));
  EXPECT_TRUE(broken("/gpu_window/compute_ns", 61));
  EXPECT_TRUE(broken("/gpu_window/overlap_ns", 1));
  EXPECT_TRUE(broken("/kernels/0/total_ns", 81));
  EXPECT_TRUE(broken("/kernel_classes/0/total_ns", 59));
}

TEST(RawWindow, IsTheFirstStartAndTheLastEndOfAnyRow) {
  const program::ScratchFolder scratch;
  std::ofstream(scratch.file("a.json"))
      << R"({"baseTimeNanoseconds": 1000, "other": {"traceEvents": 1, "ts": 0, "ph": "X"},
      "traceEvents": [{"ph": "X", "ts": 2.0005, "dur": "3.1", "args": {"ts": 0, "ph": "X"}},
                      {"ph": "i", "ts": 1}, {"ph": "B", "ts": 1.5}, {"ph": "E", "ts": 4}]})";
  const RawWindow window = raw_window(scratch.file("a.json"));
  EXPECT_EQ(window.first_ns, 2500);
  EXPECT_EQ(window.last_ns, 6101);
  EXPECT_EQ(window.rows, 3U);
  EXPECT_EQ(window.events, 4U);
  std::ofstream(scratch.file("b.json"))
      << R"([{"ph": "X", "ts": 7, "dur": 1, "x": "gr)" << '\xFC' << R"("}])";
  EXPECT_EQ(raw_window(scratch.file("b.json")).last_ns, 8000);
}

}  // namespace
}  // namespace stepscope::shared
