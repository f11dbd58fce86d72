// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nsys/nsys_ranks.h"

#include <gtest/gtest.h>

#include "stepscope/read/nsys/nsys_host.h"
#include "stepscope/read/nsys/nsys_test_export.h"

namespace stepscope {
namespace {

using test::NsysBuilder;

NsysBuilder& environment(NsysBuilder& b, const std::string& name, const std::string& value) {
  b.sql("CREATE TABLE IF NOT EXISTS META_DATA_CAPTURE (name TEXT, value TEXT)");
  return b.sql("INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT_VARIABLE','" + name +
               "=\"" + value + "\"')");
}
NsysBuilder& command(NsysBuilder& b, std::initializer_list<const char*> words) {
  b.sql("CREATE TABLE IF NOT EXISTS META_DATA_CAPTURE (name TEXT, value TEXT)");
  int n = -1;
  for (const char* word : words) {
    const std::string name = n < 0 ? "COMMAND" : "ARGUMENT_" + std::to_string(n);
    b.sql("INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:" + name + "','" + word + "')");
    ++n;
  }
  return b;
}

TEST(NsysRanks, OneProcessTakesItsRankFromTheEnvironment) {
  NsysBuilder b;
  b.session().kernel(1, 2, 1);
  environment(b, "RANK", "5");
  environment(b, "WORLD_SIZE", "8");
  const Trace trace = b.trace();
  EXPECT_EQ(trace.metadata.rank, 5);
  EXPECT_EQ(trace.metadata.world_size, 8);
}

TEST(NsysRanks, WithoutAnySourceTheRankIsLeftToTheFileName) {
  NsysBuilder b;
  b.session().kernel(1, 2, 1);
  EXPECT_FALSE(b.trace().metadata.rank);
}

TEST(NsysRanks, MpiNamesItsRanks) {
  NsysBuilder b;
  b.session().kernel(1, 2, 1, "k", 7).kernel(1, 2, 1, "k", 9);
  b.range(1, -1, "MPI Rank 3", 9, 90, 39).range(1, -1, "MPI Rank 6", 7, 70, 39);
  const auto traces = b.traces();
  ASSERT_EQ(traces.size(), 2u);
  EXPECT_EQ(traces[0].metadata.rank, 3);
  EXPECT_EQ(traces[1].metadata.rank, 6);
}

TEST(NsysRanks, ProcessesUnderOneLauncherAreNumberedByDeviceFromTheNodesFirst) {
  NsysBuilder b;
  b.session().kernel(1, 2, 1, "on 1", 20, 1).kernel(1, 2, 1, "on 0", 30, 0);
  command(b, {"torchrun", "--nnodes", "2", "--nproc-per-node=2", "--node_rank=1", "train.py"});
  const auto traces = b.traces();
  ASSERT_EQ(traces.size(), 2u);
  EXPECT_EQ(traces[0].metadata.rank, 2);
  EXPECT_EQ(traces[0].name(SliceId{0}), "on 0");
  EXPECT_EQ(traces[1].metadata.rank, 3);
  EXPECT_EQ(traces[1].metadata.world_size, 4);
  EXPECT_EQ(traces[0].notes.counts.at("ranks_by_order_of_devices"), 1u);
}

TEST(NsysRanks, ProcessesWithoutGpuWorkAreNoRanks) {
  NsysBuilder b;
  b.session().kernel(1, 2, 1).call(0, 1, 1).range(3, 4, "in a data loader", 99, 99);
  b.call(0, 1, 1, "cudaGetDeviceCount_v3020", 98, 98);
  const Trace trace = b.trace();
  EXPECT_EQ(trace.slices.size(), 2u);
  EXPECT_EQ(trace.notes.counts.at("ranges_of_processes_without_gpu_work"), 1u);
  EXPECT_EQ(trace.notes.counts.at("calls_of_processes_without_gpu_work"), 1u);
}

TEST(NsysRanks, EqualCorrelationsOfTwoProcessesStayApart) {
  NsysBuilder b;
  b.session().kernel(10, 20, 1, "a", 7, 0).kernel(30, 40, 1, "b", 8, 1);
  b.call(5, 6, 1, "cudaLaunchKernel_v7000", 7).call(25, 26, 1, "cudaLaunchKernel_v7000", 8);
  const auto traces = b.traces();
  ASSERT_EQ(traces.size(), 2u);
  for (const Trace& trace : traces) EXPECT_EQ(trace.slices.size(), 2u);
}

TEST(NsysHost, TextsOfEmitNvtxAreTakenApart) {
  const auto full = parse_emitted("aten::add, seq = 3, op_id = 9, sizes = [[2], []]");
  ASSERT_TRUE(full);
  EXPECT_EQ(full->name, "aten::add");
  EXPECT_EQ(full->sequence, 3);
  EXPECT_EQ(full->sizes, "[[2], []]");
  EXPECT_TRUE(full->is_operator);
  EXPECT_TRUE(parse_emitted("AllToAll4D, seq = 1, op_id = 2")->is_operator);
  EXPECT_TRUE(parse_emitted("flash_attn::_flash_attn_forward, op_id = 2")->is_operator);
  EXPECT_TRUE(parse_emitted("record_param_comms, op_id = 991143")->is_operator);
  EXPECT_FALSE(parse_emitted("nccl:all_to_all, op_id = 991144")->is_operator);
  EXPECT_FALSE(parse_emitted("FSDP::all_gather, op_id = 4")->is_operator);
  EXPECT_FALSE(parse_emitted("forward"));
  EXPECT_FALSE(parse_emitted(", seq = 4"));
  EXPECT_EQ(parse_emitted("x, seq = 99999999999999, op_id = 1")->sequence, -1);
  EXPECT_EQ(parse_emitted("x, sizes = [[2]")->sizes, "[[2]");
  EXPECT_EQ(parse_emitted("x, sizes = 12")->sizes, "");
}

}  // namespace
}  // namespace stepscope
