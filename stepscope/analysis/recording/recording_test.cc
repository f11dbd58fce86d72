// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/recording/recording.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/steps/trace_test_builder.h"

namespace stepscope {
namespace {

RankRecording of(TraceBuilder& b) {
  const Trace trace = b.sealed();
  const RankIndex rank = index_rank(trace);
  return recording_of(trace, rank, find_steps(trace, rank));
}

TEST(Recording, CountsRowsLaunchesAndDeviceRowsByStep) {
  TraceBuilder b;
  b.step("ProfilerStep#4", 0, 100);
  b.op("aten::mm", 1, 9);
  b.launch(1, 2, 3);
  b.kernel("a", 10, 20, 1);
  b.launch(2, 30, 31);
  b.step("ProfilerStep#5", 100, 200);
  b.launch(3, 110, 111);
  b.kernel("b", 120, 130, 3);
  b.kernel("from before", 5, 8);
  const RankRecording r = of(b);
  EXPECT_EQ(r.of(Category::cpu_op), 1u);
  EXPECT_EQ(r.of(Category::kernel), 3u);
  EXPECT_EQ(r.launches, 3u);
  EXPECT_EQ(r.lost_launches, 1u);
  EXPECT_EQ(r.device_rows, 3u);
  EXPECT_EQ(r.loose_rows, 1u);
  ASSERT_EQ(r.steps.size(), 2u);
  EXPECT_EQ(r.steps[0].index, 4);
  EXPECT_EQ(r.steps[0].launches, 2u);
  EXPECT_EQ(r.steps[0].lost_launches, 1u);
  EXPECT_EQ(r.steps[0].device_rows, 1u);
  EXPECT_EQ(r.steps[1].lost_launches, 0u);
  EXPECT_TRUE(r.pytorch);
}

TEST(Recording, CountsTheNodesOfGraphLaunches) {
  TraceBuilder b;
  b.row(b.thread(1), Category::runtime, "cudaGraphLaunch", 0, 4, 1);
  for (const std::int64_t at : {10, 20, 30}) b.kernel("node", at, at + 5, 1);
  b.launch(2, 40, 41);
  b.kernel("single", 45, 50, 2);
  const RankRecording r = of(b);
  EXPECT_EQ(r.launches, 2u);
  EXPECT_EQ(r.graph_launches, 1u);
  EXPECT_EQ(r.graph_rows, 3u);
  EXPECT_FALSE(r.pytorch);
}

TEST(Recording, CountsRowsOutsideTheProfilersWindow) {
  TraceBuilder b;
  b.row(b.thread(9), Category::trace_window, "PyTorch Profiler (0)", 100, 200);
  b.op("aten::early", 90, 110);
  b.op("aten::inside", 120, 130);
  b.kernel("late", 190, 250);
  EXPECT_EQ(of(b).outside_rows, 2u);
}

TEST(Recording, CountsKernelsThatOutlastTheNextOfTheirStream) {
  TraceBuilder b;
  b.kernel("impossible", 0, 100);
  b.kernel("next", 10, 20);
  b.kernel("tail", 200, 220);
  b.kernel("launched early", 215, 240);
  EXPECT_EQ(of(b).overlapping_rows, 1u);
}

TEST(Recording, CountsProcessesThatMarkTheSameStep) {
  TraceBuilder one;
  one.step("ProfilerStep#1", 0, 10);
  one.row(one.thread(2), Category::user_annotation, "ProfilerStep#1", 0, 10);
  EXPECT_EQ(of(one).stepping_processes, 1u);
  TraceBuilder two;
  two.step("ProfilerStep#1", 0, 10);
  two.row(two.thread(2), Category::user_annotation, "ProfilerStep#1", 0, 10);
  two.trace().tracks.back().pid = 2000;
  EXPECT_EQ(of(two).stepping_processes, 2u);
}

TEST(Recording, CountsGroupsAndPeersOfCollectives) {
  TraceBuilder b;
  const auto add = [&](const char* name, const char* group, int peer) {
    const SliceId row = b.row(b.thread(1), Category::cpu_op, "record_param_comms", 0, 1);
    Collective c;
    c.slice = row;
    c.name = b.trace().strings.intern(name);
    c.group_name = b.trace().strings.intern(group);
    c.dst_rank = peer;
    b.trace().collectives.push_back(c);
  };
  add("allreduce", "0", -1);
  add("allreduce", "", -1);
  add("send", "1", 3);
  add("send", "1", -1);
  const RankRecording r = of(b);
  EXPECT_EQ(r.collectives, 4u);
  EXPECT_EQ(r.in_named_groups, 3u);
  EXPECT_EQ(r.messages, 2u);
  EXPECT_EQ(r.addressed_messages, 1u);
}

}  // namespace
}  // namespace stepscope
