// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nsys/nsys_nccl.h"

#include <gtest/gtest.h>

#include "stepscope/event/trace_test_text.h"
#include "stepscope/read/nsys/nsys_test_export.h"

namespace stepscope {
namespace {

using test::NsysBuilder;

constexpr std::int64_t comm = 0x1122334455667788;
enum Schema { init = 11, all_gather = 4, all_reduce = 5, reduce_scatter = 7, send = 9, recv = 10 };

std::string u64(std::int64_t v) { return NsysBuilder::little_endian(v, 8); }
std::string i32(std::int64_t v) { return NsysBuilder::little_endian(v, 4); }
std::string init_fields(int ranks, int rank) { return u64(comm) + i32(ranks) + i32(rank) + u64(0); }

const Collective* collective_on(const Trace& trace, std::string_view name, Category category) {
  for (std::uint32_t i = 0; i < trace.slices.size(); ++i)
    if (trace.name(SliceId{i}) == name && trace.slices.category[i] == category)
      return trace.collective(SliceId{i});
  return nullptr;
}

TEST(NsysNccl, ACallCarriesItsCommunicatorItsBytesAndTheSizeOfItsGroup) {
  NsysBuilder b;
  b.session().kernel(200, 300, 11, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  b.nccl(10, 50, "ncclCommInitRankConfig", init, init_fields(4, 1));
  b.nccl(80, 95, "ncclAllReduce", all_reduce, u64(comm) + u64(4096) + u64(0));
  b.call(85, 90, 11, "cuLaunchKernelEx");
  const Trace trace = b.trace();
  EXPECT_EQ(test::broken_rule(trace), "");
  const Collective* c = collective_on(trace, "ncclAllReduce", Category::user_annotation);
  ASSERT_NE(c, nullptr);
  EXPECT_EQ(c->in_elements, 4096);
  EXPECT_EQ(trace.strings[c->dtype], "bytes");
  EXPECT_EQ(c->group_size, 4);
  EXPECT_EQ(trace.strings[c->group_name], "0x1122334455667788");
  EXPECT_EQ(trace.metadata.rank, 1) << "the widest communicator is the world";
  EXPECT_EQ(trace.metadata.world_size, 4);
  ASSERT_EQ(trace.metadata.groups.size(), 1u);
  EXPECT_EQ(trace.metadata.groups[0].size, 4);
}

TEST(NsysNccl, SizesOfGathersAndScattersArePerRank) {
  NsysBuilder b;
  b.session().kernel(200, 300, 11);
  b.nccl(10, 50, "ncclCommInitRankConfig", init, init_fields(4, 1));
  b.nccl(60, 65, "ncclAllGather", all_gather, u64(comm) + u64(100));
  b.nccl(70, 75, "ncclReduceScatter", reduce_scatter, u64(comm) + u64(100) + u64(0));
  const Trace trace = b.trace();
  const Collective* gather = collective_on(trace, "ncclAllGather", Category::user_annotation);
  const Collective* scatter = collective_on(trace, "ncclReduceScatter", Category::user_annotation);
  ASSERT_TRUE(gather != nullptr && scatter != nullptr);
  EXPECT_EQ(gather->in_elements, 100);
  EXPECT_EQ(gather->out_elements, 400);
  EXPECT_EQ(scatter->in_elements, 400);
  EXPECT_EQ(scatter->out_elements, 100);
}

TEST(NsysNccl, APayloadInHexadecimalTextReadsLikeABlob) {
  const std::string data =
      u64(1) + u64((1 << 24) + 5) + u64(24) + u64(32) + u64(comm) + u64(77) + u64(0);
  std::string bytes;
  for (std::size_t i = 0; i < data.size(); i += 2)
    bytes += static_cast<char>(std::stoi(data.substr(i, 2), nullptr, 16));
  NsysBuilder b;
  // Exports without schema tables use the schemas that NCCL defines statically.
  const std::string kept = b.session().bytes();
  auto opened = SqliteFile::open_bytes(kept, "x", {});
  ASSERT_TRUE(opened.has_value());
  NsysExport nsys(std::move(*opened));
  const NcclSchemas schemas = read_nccl_schemas(nsys);
  for (const std::string& form : {data, "0x" + data, bytes}) {
    NcclCall call;
    read_nccl_payload(form, schemas, call);
    EXPECT_EQ(call.communicator, static_cast<std::uint64_t>(comm));
    EXPECT_EQ(call.bytes, 77);
  }
  for (const std::string& form : {bytes.substr(0, 31), std::string("zz"), bytes.substr(0, 36)}) {
    NcclCall call;
    read_nccl_payload(form, schemas, call);
    EXPECT_EQ(call.communicator, 0u) << "a payload that was cut tells nothing";
  }
}

TEST(NsysNccl, ASchemaOfTheExportGoesBeforeTheKnownOne) {
  NsysBuilder b;
  b.session().kernel(200, 300, 11);
  b.sql(
      "CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId, schemaId, idx, flags, type, name TEXT, "
      "description, arrayOrUnionDetail, offset);"
      "INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES "
      "(1,16777221,0,NULL,22,'Message size [bytes]',NULL,NULL,NULL),"
      "(1,16777221,1,NULL,18,'NCCL communicator ID',NULL,NULL,8)");
  b.nccl(80, 95, "ncclAllReduce", all_reduce, u64(512) + u64(comm));
  const Trace trace = b.trace();
  const Collective* c = collective_on(trace, "ncclAllReduce", Category::user_annotation);
  ASSERT_NE(c, nullptr);
  EXPECT_EQ(c->in_elements, 512);
}

TEST(NsysNccl, CallsOfOneGroupGoToTheirKernelOrAreSummedOnTheirOnlyOne) {
  NsysBuilder b;
  b.session().kernel(200, 300, 11, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  b.kernel(400, 500, 12, "ncclDevKernel_AllGather_RING_LL");
  b.kernel(500, 600, 13, "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL");
  b.nccl(1, 5, "ncclCommInitRankConfig", init, init_fields(2, 0));
  b.range(10, 11, "ncclGroupStart");
  b.nccl(12, 13, "ncclAllReduce", all_reduce, u64(comm) + u64(100) + u64(0));
  b.nccl(14, 15, "ncclAllReduce", all_reduce, u64(comm) + u64(28) + u64(0));
  b.range(16, 30, "ncclGroupEnd").call(18, 20, 11, "cuLaunchKernelEx");
  b.range(40, 41, "ncclGroupStart").range(42, 43, "ncclGroupStart");
  b.nccl(44, 45, "ncclAllGather", all_gather, u64(comm) + u64(7));
  b.range(46, 47, "ncclGroupEnd");
  b.nccl(48, 49, "ncclReduceScatter", reduce_scatter, u64(comm) + u64(9) + u64(0));
  b.range(50, 60, "ncclGroupEnd")
      .call(51, 52, 12, "cuLaunchKernelEx")
      .call(53, 54, 13, "cuLaunchKernelEx");
  const Trace trace = b.trace();
  EXPECT_EQ(test::broken_rule(trace), "");
  const auto on = [&](std::string_view kernel) {
    return collective_on(trace, kernel, Category::kernel);
  };
  const Collective* sum = on("ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  const Collective* gather = on("ncclDevKernel_AllGather_RING_LL");
  const Collective* scatter = on("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL");
  ASSERT_TRUE(sum != nullptr && gather != nullptr && scatter != nullptr);
  EXPECT_EQ(sum->in_elements, 128);
  EXPECT_EQ(gather->in_elements, 7);
  EXPECT_EQ(scatter->out_elements, 9);
}

TEST(NsysNccl, AMessageToAndFromEachRankIsAnAllToAll) {
  const auto messages = [](bool to_self) {
    NsysBuilder b;
    b.session().kernel(200, 300, 11, "ncclDevKernel_SendRecv");
    b.nccl(1, 5, "ncclCommInitRankConfig", init, init_fields(2, 1));
    b.range(10, 11, "ncclGroupStart");
    for (const int peer : {0, 1}) {
      if (peer == 1 && !to_self) continue;
      b.nccl(12 + 4 * peer, 13 + 4 * peer, "ncclSend", send,
             u64(comm) + u64(64) + i32(peer) + i32(0));
      b.nccl(14 + 4 * peer, 15 + 4 * peer, "ncclRecv", recv,
             u64(comm) + u64(32) + i32(peer) + i32(0));
    }
    b.range(30, 60, "ncclGroupEnd").call(51, 52, 11, "cuLaunchKernelEx");
    return b.trace();
  };
  const Trace exchange = messages(true);
  const Collective* c = collective_on(exchange, "ncclDevKernel_SendRecv", Category::kernel);
  ASSERT_NE(c, nullptr);
  EXPECT_EQ(exchange.strings[c->name], "all_to_all");
  EXPECT_EQ(c->in_elements, 128);
  EXPECT_EQ(c->out_elements, 64);
  const Trace pair = messages(false);
  EXPECT_EQ(collective_on(pair, "ncclDevKernel_SendRecv", Category::kernel), nullptr);
  const Collective* sent = collective_on(pair, "ncclSend", Category::user_annotation);
  ASSERT_NE(sent, nullptr);
  EXPECT_EQ(sent->rank, 0);
  EXPECT_EQ(sent->in_elements, 64);
}

TEST(NsysNccl, WithoutPayloadsTheCallsAreCounted) {
  NsysBuilder b;
  b.session().kernel(200, 300, 11, "ncclDevKernel_SendRecv");
  b.range(10, 20, "ncclSend").range(20, 30, "ncclRecv").range(30, 40, "ncclCommCount");
  const Trace trace = b.trace();
  EXPECT_TRUE(trace.collectives.empty());
  EXPECT_EQ(trace.notes.counts.at("nccl_call_without_payload"), 2u);
}

TEST(NsysNccl, TheRanksOfACommunicatorAreListedWhereTheExportHasAll) {
  NsysBuilder b;
  b.session();
  for (const int rank : {0, 1}) {
    const std::int64_t pid = 40 - rank;
    b.kernel(200, 300, 11, "k", pid, 1 - rank);
    b.nccl(10, 50, "ncclCommInitRankConfig", init, init_fields(2, rank), pid);
  }
  const auto traces = b.traces();
  ASSERT_EQ(traces.size(), 2u);
  for (int rank : {0, 1}) {
    const Metadata& metadata = traces[static_cast<std::size_t>(rank)].metadata;
    EXPECT_EQ(metadata.rank, rank);
    ASSERT_EQ(metadata.groups.size(), 1u);
    EXPECT_EQ(metadata.groups[0].ranks, (std::vector<int>{0, 1}));
  }
}

}  // namespace
}  // namespace stepscope
