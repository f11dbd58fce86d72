// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/collective_calls.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/runs/job_test_builder.h"

namespace stepscope {
namespace {

using Kind = CollectiveKind;

RankCalls calls_of(TestRank rank, int number = 0) {
  TestJob job;
  job.add(number, std::move(rank));
  return find_collective_calls(job.views()[0]);
}

TEST(CollectiveCalls, AKernelsOwnMetadataSayEverything) {
  TestRank rank;
  rank.comm(all_gather_kernel, 100, 300,
            {.name = "_allgather_base",
             .group = "3",
             .ranks = "[0, 4]",
             .elements = 16,
             .out = 32,
             .seq = 9,
             .dtype = "BFloat16"});
  rank.rows().kernel("gemm", 0, 50);
  const RankCalls found = calls_of(std::move(rank));
  ASSERT_EQ(found.calls.size(), 1U);
  const CollectiveCall& call = found.calls[0];
  EXPECT_EQ(call.kind, Kind::all_gather);
  EXPECT_FALSE(call.kind_by_name);
  EXPECT_EQ(call.bytes, Bytes{64});
  EXPECT_EQ(call.seq, 9);
  EXPECT_EQ(call.dtype, "BFloat16");
  ASSERT_NE(call.group, no_row);
  EXPECT_EQ(found.groups[call.group].ranks, (std::vector<int>{0, 4}));
}

TEST(CollectiveCalls, ALaunchInsideAnOperatorTakesItsMetadata) {
  TestRank rank;
  rank.annotate(
      rank.rows().row(rank.rows().thread(1), Category::cpu_op, "record_param_comms", 10, 40),
      {.name = "reduce_scatter", .group = "5", .elements = 8, .out = 4});
  rank.rows().launch(77, 20, 30);
  rank.comm("ncclDevKernel_Generic_4()", 100, 200, 77);
  const RankCalls found = calls_of(std::move(rank));
  ASSERT_EQ(found.calls.size(), 1U);
  EXPECT_EQ(found.calls[0].kind, Kind::reduce_scatter);
  EXPECT_EQ(found.calls[0].bytes, Bytes{32});
  EXPECT_NE(found.calls[0].host, no_slice);
  EXPECT_NE(found.calls[0].launch, no_slice);
}

TEST(CollectiveCalls, AnAnnotationWithShapesGivesKindAndSize) {
  TestRank rank;
  rank.op_with_inputs(Category::user_annotation, "nccl:all_to_all", 10, 40, "[[64]]",
                      "[\"long int\"]");
  rank.rows().launch(5, 20, 30);
  rank.comm(send_recv_kernel, 100, 200, 5);
  const RankCalls found = calls_of(std::move(rank));
  ASSERT_EQ(found.calls.size(), 1U);
  EXPECT_EQ(found.calls[0].kind, Kind::all_to_all);
  EXPECT_EQ(found.calls[0].bytes, Bytes{512});
  EXPECT_EQ(found.calls[0].dtype, "Long");
  EXPECT_EQ(found.calls[0].group, no_row);
}

// A range of the user around the launch, at 10 to 40 on thread 1.
RankCalls calls_in_range(std::string_view range, std::string_view kernel,
                         std::optional<TestMeta> meta = std::nullopt, int launches = 1) {
  TestRank rank;
  rank.rows().row(rank.rows().thread(1), Category::user_annotation, range, 10, 40);
  for (int i = 0; i < launches; ++i) {
    const auto id = static_cast<std::uint32_t>(7 + i);
    rank.rows().launch(id, 20 + 3 * i, 22 + 3 * i);
    const SliceId row = rank.comm(kernel, 100 + 100 * i, 190 + 100 * i, id);
    if (meta) rank.annotate(row, *meta);
  }
  return calls_of(std::move(rank));
}

TEST(CollectiveCalls, TheNameOfARangeGivesASizeThatNothingElseRecords) {
  const RankCalls found = calls_in_range("AllReduce_0_104.9MB", all_reduce_kernel);
  ASSERT_EQ(found.calls.size(), 1U);
  EXPECT_EQ(found.calls[0].bytes, Bytes{104'900'000});
  EXPECT_TRUE(found.calls[0].bytes_by_range);
  // Another kind, a part or the whole, no collective, one of two calls.
  EXPECT_FALSE(calls_in_range("AllToAll_0_1MB", all_reduce_kernel,
                              TestMeta{.name = "allreduce", .dtype = ""})
                   .calls[0]
                   .bytes);
  EXPECT_FALSE(calls_in_range("AllGather_0_1MB", all_gather_kernel).calls[0].bytes);
  EXPECT_FALSE(calls_in_range("epoch 3 (25GB free)", all_reduce_kernel).calls[0].bytes);
  for (const CollectiveCall& call :
       calls_in_range("AllReduce_0_1MB", all_reduce_kernel, std::nullopt, 2).calls)
    EXPECT_FALSE(call.bytes);
}

TEST(CollectiveCalls, ARecordedSizePrecedesThatInTheNameOfARange) {
  const TestMeta meta{.name = "allreduce", .elements = 26'214'400, .dtype = "Float"};
  const RankCalls same = calls_in_range("AllReduce_0_104.9MB", all_reduce_kernel, meta);
  EXPECT_EQ(same.calls[0].bytes, Bytes{104'857'600});
  EXPECT_FALSE(same.calls[0].bytes_by_range);
  EXPECT_EQ(same.other_sizes.calls, 0U);
  const RankCalls other = calls_in_range("AllReduce_0_100.0MB", all_reduce_kernel, meta);
  EXPECT_EQ(other.calls[0].bytes, Bytes{104'857'600});
  EXPECT_EQ(other.other_sizes.calls, 1U);
  EXPECT_EQ(other.other_sizes.range, "AllReduce_0_100.0MB");
  EXPECT_EQ(other.other_sizes.recorded, Bytes{104'857'600});
}

TEST(CollectiveCalls, AKernelLaunchedBeforeTheCaptureIsLikeItsNeighboursOnTheStream) {
  TestRank rank;
  rank.comm(send_recv_kernel, 1, 5);
  rank.comm(send_recv_kernel, 10, 20, {.name = "all_to_all", .group = "2"});
  const RankCalls found = calls_of(std::move(rank));
  ASSERT_EQ(found.calls.size(), 2U);
  EXPECT_EQ(found.calls[0].kind, Kind::all_to_all);
  EXPECT_EQ(found.calls[0].group, found.calls[1].group);
  EXPECT_FALSE(found.calls[0].bytes);
}

TEST(CollectiveCalls, NeighboursOfSeveralGroupsTellNothing) {
  TestRank rank;
  rank.comm(all_reduce_kernel, 1, 5);
  rank.all_reduce(10, 20, {.group = "2"});
  rank.all_reduce(30, 40, {.group = "3"});
  EXPECT_EQ(calls_of(std::move(rank)).calls[0].group, no_row);
}

TEST(CollectiveCalls, SendsAndReceivesNameTheirPeers) {
  TestRank rank;
  rank.comm(send_recv_kernel, 1, 5, {.name = "send", .ranks = "[2, 6]", .src = -1, .dst = 6});
  rank.comm(send_recv_kernel, 10, 20, {.name = "recv", .ranks = "[2, 6]", .src = 6, .dst = -1});
  const RankCalls found = calls_of(std::move(rank), 2);
  ASSERT_EQ(found.edges.size(), 2U);
  EXPECT_EQ(found.calls[0].kind, Kind::send);
  EXPECT_EQ(found.edges[0].src, 2);
  EXPECT_EQ(found.edges[0].dst, 6);
  EXPECT_EQ(found.edges[1].src, 6);
  EXPECT_EQ(found.edges[1].dst, 2);
}

// Its place in the group, and its number in the job.
TEST(CollectiveCalls, ARecordOfTheRanksOwnNumberTellsNoPeer) {
  for (const int own : {1, 6}) {
    TestRank rank;
    rank.comm(send_recv_kernel, 1, 5, {.name = "send", .ranks = "[2, 6]", .rank = own});
    rank.comm(send_recv_kernel, 10, 20, {.name = "recv", .ranks = "[2, 6]", .rank = own});
    const RankCalls found = calls_of(std::move(rank), 6);
    ASSERT_EQ(found.edges.size(), 2U) << own;
    EXPECT_EQ(found.edges[0].dst, 2);
    EXPECT_EQ(found.edges[1].src, 2);
  }
  TestRank rank;
  rank.comm(send_recv_kernel, 1, 5, {.name = "send", .ranks = "[2, 6, 8]", .size = 3, .rank = 6});
  const RankCalls found = calls_of(std::move(rank), 6);
  ASSERT_EQ(found.edges.size(), 1U);
  EXPECT_EQ(found.edges[0].dst, -1);
}

// On AMD the kernel's name does not show what it runs, and its external id may be that of the last
// message.
TEST(CollectiveCalls, AFusedKernelRunsTheMessagesRecordedBeforeItsLaunch) {
  for (const std::string_view kernel :
       {send_recv_kernel, std::string_view("ncclDevKernel_Generic_4()")}) {
    TestRank rank;
    TraceBuilder& rows = rank.rows();
    const auto message = [&](std::int64_t start, const TestMeta& meta, std::uint32_t id) {
      const SliceId row =
          rows.row(rows.thread(1), Category::cpu_op, "record_param_comms", start, start + 5);
      rank.built().slices.external_id[index(row)] = id;
      rank.annotate(row, meta);
    };
    message(10, {.name = "send", .ranks = "[0, 1, 2]", .size = 3, .dst = 2}, 11);
    message(20, {.name = "recv", .ranks = "[0, 1, 2]", .size = 3, .src = 0}, 12);
    rows.launch(9, 30, 32);
    rank.built().slices.external_id[index(rank.comm(kernel, 100, 200, 9))] = 12;
    message(40, {.name = "send", .ranks = "[0, 1, 2]", .size = 3, .dst = 0}, 13);
    rows.launch(10, 50, 52);
    rank.built().slices.external_id[index(rank.comm(kernel, 300, 400, 10))] = 13;
    const RankCalls found = calls_of(std::move(rank), 1);
    ASSERT_EQ(found.calls.size(), 2U) << kernel;
    EXPECT_EQ(found.calls[0].edge_count, 2U) << kernel;
    EXPECT_EQ(found.edges[found.calls[0].first_edge].dst, 2) << kernel;
    EXPECT_EQ(found.edges[found.calls[0].first_edge + 1].src, 0) << kernel;
    ASSERT_EQ(found.calls[1].edge_count, 1U) << kernel;
    EXPECT_EQ(found.edges[found.calls[1].first_edge].dst, 0) << kernel;
  }
}

TEST(CollectiveCalls, ABroadcastsRootIsReadFromTheOperatorsArguments) {
  TestRank rank;
  rank.op_with_inputs(Category::cpu_op, "c10d::broadcast_", 5, 60, "[[], [], [], [], [], []]",
                      R"(["TensorList", "", "Scalar", "Scalar", "Scalar", "Scalar"])",
                      "[\"\", \"\", \"1\", \"0\", \"False\", \"-1\"]");
  rank.annotate(
      rank.rows().row(rank.rows().thread(1), Category::cpu_op, "record_param_comms", 10, 40),
      {.name = "broadcast", .ranks = "[4, 6]"});
  rank.rows().launch(3, 20, 30);
  rank.comm(broadcast_kernel, 100, 200, 3);
  EXPECT_EQ(calls_of(std::move(rank), 4).calls[0].root, 6);
}

TEST(CollectiveCalls, ARecordedRootCountsWithinTheGroup) {
  TestRank rank;
  TraceBuilder& rows = rank.rows();
  // The kernel carries a part of its operator's record.
  rank.annotate(rows.row(rows.thread(1), Category::cpu_op, "record_param_comms", 10, 40),
                {.name = "broadcast", .ranks = "[4, 6]", .rank = 1});
  rows.launch(3, 20, 30);
  rank.annotate(rank.comm(broadcast_kernel, 100, 200, 3), {.name = "broadcast", .ranks = "[4, 6]"});
  EXPECT_EQ(calls_of(std::move(rank), 4).calls[0].root, 6);
}

TEST(CollectiveCalls, HostRowsThatOnlyEnqueueForADeviceAreNoCalls) {
  TestRank rank;
  rank.rows().op("c10d::allreduce_", 5, 50);
  rank.rows().row(rank.rows().thread(1), Category::user_annotation, "nccl:all_reduce", 10, 40);
  EXPECT_TRUE(calls_of(std::move(rank)).calls.empty());
}

TEST(CollectiveCalls, ACpuTraceGivesTheBackendsRowsWithTheOperatorsMetadata) {
  TestRank rank;
  TraceBuilder& rows = rank.rows();
  rank.annotate(rows.row(rows.thread(1), Category::cpu_op, "record_param_comms", 10, 12),
                {.name = "allreduce", .elements = 50, .seq = 4});
  rank.annotate(rows.row(rows.thread(1), Category::cpu_op, "record_param_comms", 14, 15),
                {.name = "wait", .ranks = "[]", .size = 1});
  rows.row(rows.thread(2), Category::user_annotation, "gloo:all_reduce", 13, 90);
  const RankCalls found = calls_of(std::move(rank));
  ASSERT_EQ(found.calls.size(), 1U);
  EXPECT_EQ(found.calls[0].start, Ns{13});
  EXPECT_EQ(found.calls[0].end, Ns{90});
  EXPECT_EQ(found.calls[0].bytes, Bytes{200});
  EXPECT_EQ(found.calls[0].seq, 4);
}

TEST(CollectiveCalls, TheOnlyGroupOfAJobOwnsEveryCall) {
  TestRank rank;
  rank.built().metadata.groups.push_back({"0", "default_pg", "gloo", 2, {0, 1}});
  rank.rows().row(rank.rows().thread(2), Category::user_annotation, "gloo:all_reduce", 13, 90);
  const RankCalls found = calls_of(std::move(rank));
  ASSERT_EQ(found.calls.size(), 1U);
  ASSERT_NE(found.calls[0].group, no_row);
  EXPECT_EQ(found.groups[found.calls[0].group].name, "0");
}

TEST(CollectiveCalls, EachCallKnowsItsStep) {
  TestRank rank;
  rank.rows().step("ProfilerStep#4", 0, 100);
  rank.rows().step("ProfilerStep#5", 100, 200);
  rank.rows().launch(1, 10, 12);
  rank.rows().launch(2, 110, 112);
  rank.comm(all_reduce_kernel, 20, 40, 1);
  rank.comm(all_reduce_kernel, 120, 140, 2);
  const RankCalls found = calls_of(std::move(rank));
  ASSERT_EQ(found.calls.size(), 2U);
  EXPECT_EQ(found.calls[0].step, 0U);
  EXPECT_EQ(found.calls[1].step, 1U);
}

}  // namespace
}  // namespace stepscope
