// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nccl/inspector_log.h"

#include <gtest/gtest.h>

#include <string>

namespace stepscope {
namespace {

std::string header(int rank) {
  return R"("header":{"id":"0x7f8c496ae9f661","comm_name":"DP Group 0","rank":)" +
         std::to_string(rank) + R"(,"n_ranks":8,"nnodes":1})";
}

std::string metadata(const std::string& version) {
  return R"("metadata":{"inspector_output_format_version":")" + version +
         R"(","git_rev":"","rec_mechanism":"nccl_profiler_interface",)"
         R"("dump_timestamp_us":1748030377748202,"hostname":"node7","pid":1639453})";
}

const std::string all_reduce =
    R"("coll_perf":{"coll":"AllReduce","coll_sn":1407,"coll_msg_size_bytes":17179869184,)"
    R"("coll_exec_time_us":61974,"coll_algobw_gbs":277.210914,"coll_busbw_gbs":485.119099})";

TEST(InspectorLog, ReadsLinesWithTheirOwnHeader) {
  InspectorLog log;
  const auto line = log.take("{" + header(2) + "," + metadata("v4.0") + "," + all_reduce + "}");
  ASSERT_TRUE(line && line->operation);
  EXPECT_EQ(line->context->communicator, "0x7f8c496ae9f661");
  EXPECT_EQ(line->context->name, "DP Group 0");
  EXPECT_EQ(line->context->rank, 2);
  EXPECT_EQ(line->context->ranks, 8);
  EXPECT_EQ(line->context->host, "node7");
  EXPECT_EQ(line->context->pid, 1639453);
  EXPECT_EQ(line->context->dump_us, 1748030377748202);
  EXPECT_EQ(line->operation->kind, CollectiveKind::all_reduce);
  EXPECT_EQ(line->operation->number, 1407U);
  EXPECT_EQ(line->operation->bytes, 17179869184U);
  EXPECT_EQ(line->operation->duration, Ns{61'974'000});
  EXPECT_TRUE(line->operation->gpu_timed);
  EXPECT_EQ(line->operation->start_us, 0);
  EXPECT_EQ(log.version(), "v4.0");
}

TEST(InspectorLog, ReadsVerboseAndPointToPointRecords) {
  InspectorLog log;
  const auto line = log.take(
      "{" + header(0) + "," + metadata("v4.2") +
      R"(,"coll_perf":{"coll":"ReduceScatter","coll_algo":"RING","coll_proto":"SIMPLE",)"
      R"("coll_sn":1,"coll_msg_size_bytes":8192,"coll_exec_time_us":7,)"
      R"("coll_timing_source":"kernel_cpu","coll_algobw_gbs":1.0,"coll_busbw_gbs":"nan",)"
      R"("event_trace_sn":{"coll_start_sn":1,"coll_stop_sn":2,"kernel_events":[]},)"
      R"("event_trace_ts":{"coll_start_ts":1752867229235059,"coll_stop_ts":1752867229235064,)"
      R"("kernel_events":[{"channel_id":0,"kernel_start_ts":1}]}}})");
  ASSERT_TRUE(line && line->operation);
  EXPECT_EQ(line->operation->kind, CollectiveKind::reduce_scatter);
  EXPECT_FALSE(line->operation->gpu_timed);
  EXPECT_EQ(line->operation->start_us, 1752867229235059);
  const auto sent = log.take("{" + header(0) + "," + metadata("v4.2") +
                             R"(,"p2p_perf":{"p2p":"Send","p2p_sn":3,"p2p_peer":5,)"
                             R"("p2p_msg_size_bytes":9000,"p2p_exec_time_us":11}})");
  ASSERT_TRUE(sent && sent->operation);
  EXPECT_TRUE(sent->operation->p2p);
  EXPECT_EQ(sent->operation->peer, 5);
  EXPECT_EQ(sent->operation->kind, CollectiveKind::send);
}

std::string marker(const std::string& version, int records, int dropped) {
  return "{" + header(2) + "," + metadata(version) + R"(,"dump_stats":{"coll_records":)" +
         std::to_string(records) + R"(,"coll_dropped_total":4096,"coll_dropped_since_last_dump":)" +
         std::to_string(dropped) +
         R"(,"p2p_records":0,"p2p_dropped_total":0,"p2p_dropped_since_last_dump":0}})";
}

TEST(InspectorLog, GivesRecordsTheContextOfTheirMarker) {
  InspectorLog log;
  EXPECT_FALSE(log.take("{" + all_reduce + "}"));  // reading began within a batch
  EXPECT_EQ(log.counts().orphans, 1U);
  const auto first = log.take(marker("v4.3", 2, 512));
  ASSERT_TRUE(first && first->drops);
  EXPECT_EQ(first->drops->collectives, 512U);
  const auto record = log.take("{" + all_reduce + "}");
  ASSERT_TRUE(record && record->operation);
  EXPECT_EQ(record->context->rank, 2);
  EXPECT_TRUE(log.take("{" + all_reduce + "}"));
  EXPECT_FALSE(log.take("{" + all_reduce + "}"));  // one more than the marker announces
  EXPECT_EQ(log.counts().orphans, 2U);
}

TEST(InspectorLog, CountsLinesThatAMarkerAnnouncedAndThatDidNotCome) {
  InspectorLog log;
  EXPECT_TRUE(log.take(marker("v4.3", 3, 0)));
  EXPECT_TRUE(log.take("{" + all_reduce + "}"));
  EXPECT_TRUE(log.take(marker("v4.3", 1, 0)));
  EXPECT_EQ(log.counts().lost_lines, 2U);
  log.restart();
  EXPECT_FALSE(log.take("{" + all_reduce + "}"));
}

TEST(InspectorLog, AMarkerOfAnOlderVersionAnnouncesNothing) {
  InspectorLog log;
  const auto first = log.take(marker("v4.2", 5, 7));
  ASSERT_TRUE(first && first->drops);
  EXPECT_EQ(first->drops->collectives, 7U);
  EXPECT_TRUE(log.take(marker("v4.2", 5, 0)));
  EXPECT_EQ(log.counts().lost_lines, 0U);
}

TEST(InspectorLog, ReadsInfiniteBandwidths) {
  InspectorLog log;
  const auto line = log.take("{" + header(1) + "," + metadata("v4.1") +
                             R"(,"coll_perf":{"coll":"Broadcast","coll_sn":1,)"
                             R"("coll_msg_size_bytes":8192,"coll_exec_time_us":0,)"
                             R"("coll_algobw_gbs": inf,"coll_busbw_gbs":inf}})");
  ASSERT_TRUE(line && line->operation);
  EXPECT_EQ(line->operation->duration, Ns{0});
}

TEST(InspectorLog, CountsWhatIsNotUnderstood) {
  InspectorLog log;
  for (const std::string& bad :
       {std::string("{"), std::string("[]"), std::string("{\"a\":1}"),
        "{" + header(8) + "," + all_reduce + "}",  // of eight ranks, the last is 7
        "{" + header(0) + R"(,"coll_perf":{"coll":"AllReduce","coll_sn":1}})",
        "{" + header(0) + R"(,"coll_perf":{"coll":"AllReduce","coll_sn":-1,)" +
            R"("coll_msg_size_bytes":1,"coll_exec_time_us":1}})"})
    EXPECT_FALSE(log.take(bad)) << bad;
  EXPECT_EQ(log.counts().not_understood, 6U);
  EXPECT_EQ(log.counts().operations, 0U);
}

}  // namespace
}  // namespace stepscope
