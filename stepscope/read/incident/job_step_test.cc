// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/incident/job_step.h"

#include <gtest/gtest.h>

#include "stepscope/read/incident/same_end.h"

namespace stepscope {
namespace {

TEST(JobStep, BeginsInTheTraceOfAShell) {
  ASSERT_TRUE(begin_of_step("+ srun -l --ntasks=8 python train.py"));
  EXPECT_TRUE(begin_of_step("+ srun -l --ntasks=8 python train.py")->labelled);
  EXPECT_TRUE(begin_of_step("++ srun --label ./run.sh")->labelled);
  ASSERT_TRUE(begin_of_step("++ srun --ntasks=1 ls -l"));
  EXPECT_FALSE(begin_of_step("++ srun --ntasks=1 ls -l")->labelled);
  EXPECT_FALSE(begin_of_step("srun -l python train.py"));
  EXPECT_FALSE(begin_of_step("+ echo srun"));
}

TEST(JobStep, ListsTheTasksThatEnded) {
  EXPECT_EQ(ended_tasks("srun: error: n3: task 17: Killed"), std::vector<int>{17});
  EXPECT_EQ(ended_tasks("srun: error: n3: tasks 2,4-6: Exited with exit code 1"),
            (std::vector<int>{2, 4, 5, 6}));
  EXPECT_TRUE(ended_tasks("srun: error: n3: tasks 2-: Killed").empty());
  EXPECT_TRUE(ended_tasks("srun: error: n3: tasks 9-2: Killed").empty());
  EXPECT_TRUE(ended_tasks("srun: error: n3: tasks 0-99999999: Killed").empty());
  EXPECT_TRUE(ended_tasks("srun: error: n3: tasks 0-5000: Killed").empty());
  EXPECT_EQ(ended_tasks("srun: error: n3: tasks 0-4999: Killed").size(), 5000U);
  EXPECT_FALSE(is_end_of_tasks("srun: error: Node failure on n3"));
}

TEST(SameEnd, JoinsTheNumberOfAProcessAndItsRank) {
  const IncidentEvent by_number{
      .kind = IncidentKind::signal, .host = "n1", .pid = 22, .code = 11, .line = 1};
  const IncidentEvent by_table{
      .kind = IncidentKind::signal, .rank = 3, .host = "n1", .pid = 22, .code = 11, .line = 5};
  const IncidentEvent by_code{.kind = IncidentKind::exit, .rank = 3, .code = 139, .line = 6};
  const IncidentEvent elsewhere{
      .kind = IncidentKind::signal, .host = "n2", .pid = 23, .code = 11, .line = 7};
  std::vector<IncidentEvent> events = {by_number, by_table, by_code, elsewhere};
  join_same_ends(events, 0);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].rank, 3);
  EXPECT_EQ(events[0].line, 1U);
  EXPECT_EQ(events[0].times, 3U);
  EXPECT_FALSE(events[1].rank);
}

TEST(SameEnd, KeepsTheEndsOfTwoAttempts) {
  IncidentEvent first{.kind = IncidentKind::signal, .rank = 3, .pid = 22, .code = 9};
  IncidentEvent second = first;
  second.pid = 77;
  std::vector<IncidentEvent> events = {first, second};
  join_same_ends(events, 0);
  EXPECT_EQ(events.size(), 2U);
}

}  // namespace
}  // namespace stepscope
