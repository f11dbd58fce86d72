// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nsys/nsys.h"

#include <gtest/gtest.h>

#include "stepscope/event/trace_test_text.h"
#include "stepscope/read/nsys/nsys_test_export.h"

namespace stepscope {
namespace {

using test::NsysBuilder;

constexpr std::int64_t utc = 1'700'000'000'000'000'000;

SliceId find(const Trace& trace, std::string_view name) {
  for (std::uint32_t i = 0; i < trace.slices.size(); ++i)
    if (trace.name(SliceId{i}) == name) return SliceId{i};
  return no_slice;
}

std::uint64_t note(const Trace& trace, const std::string& reason) {
  const auto at = trace.notes.counts.find(reason);
  return at == trace.notes.counts.end() ? 0 : at->second;
}

TEST(Nsys, KernelsBecomeDeviceRowsInAbsoluteTimeBelowTheirLaunch) {
  NsysBuilder b;
  b.session(utc).kernel(100, 150, 11, "void gemm<float>(int)").call(80, 90, 11);
  const Trace trace = b.trace();
  EXPECT_EQ(test::broken_rule(trace), "");
  EXPECT_EQ(trace.metadata.format, "nsys");
  EXPECT_EQ(trace.metadata.clock, Clock::unix_epoch);
  EXPECT_EQ(trace.metadata.texts.at("nsys_schema_version"), "3.25.0");
  const SliceId kernel = find(trace, "void gemm<float>(int)");
  ASSERT_NE(kernel, no_slice);
  const std::uint32_t k = index(kernel);
  EXPECT_EQ(trace.slices.start[k].count(), utc + 100);
  EXPECT_EQ(trace.slices.dur[k].count(), 50);
  EXPECT_EQ(trace.slices.category[k], Category::kernel);
  EXPECT_EQ(trace.slices.correlation[k], 11u);
  const Track& stream = trace.track(trace.slices.track[k]);
  EXPECT_TRUE(stream.device);
  EXPECT_EQ(stream.device_index, 0);
  EXPECT_EQ(stream.tid, 7);
  const SliceId launch = find(trace, "cudaLaunchKernel");
  ASSERT_NE(launch, no_slice) << "without the version that CUPTI appends";
  EXPECT_EQ(trace.slices.category[index(launch)], Category::runtime);
  EXPECT_EQ(trace.track(trace.slices.track[index(launch)]).pid, 7);
  EXPECT_EQ(trace.track(trace.slices.track[index(launch)]).tid, 70);
}

TEST(Nsys, CopiesAndMemsetsAreNamedAsTorchNamesThemAndKeepTheirBytes) {
  NsysBuilder b;
  b.session().copy(10, 20, 1, 4096).copy(30, 40, 2, 77, 8);
  b.sql(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, contextId, streamId, "
      "correlationId, globalPid, value, bytes, memKind);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (50,60,0,1,7,3," +
      std::to_string(NsysBuilder::pid_of(7)) + ",0,512,2)");
  const Trace trace = b.trace();
  const SliceId up = find(trace, "Memcpy HtoD (Pageable -> Device)");
  const SliceId within = find(trace, "Memcpy DtoD (Pageable -> Device)");
  const SliceId set = find(trace, "Memset (Device)");
  ASSERT_NE(up, no_slice);
  ASSERT_NE(within, no_slice);
  ASSERT_NE(set, no_slice);
  EXPECT_EQ(trace.copies.bytes[trace.slices.detail[index(up)]].value, 4096);
  EXPECT_EQ(trace.copies.bytes[trace.slices.detail[index(within)]].value, 77);
  EXPECT_EQ(trace.copies.bytes[trace.slices.detail[index(set)]].value, 512);
  EXPECT_EQ(trace.slices.category[index(set)], Category::memset);
}

TEST(Nsys, TheOldestSchemaReadsAsTheNewest) {
  const auto fill = [](NsysBuilder& b) -> NsysBuilder& {
    return b.kernel(100, 150, 11).call(80, 90, 11).range(70, 95, "forward");
  };
  NsysBuilder old;
  // Schema 2: other metadata names, all columns present, default values in place of nulls.
  old.sql(
      "CREATE TABLE EXPORT_META_DATA (name TEXT, value TEXT);"
      "INSERT INTO EXPORT_META_DATA VALUES ('EXPORT_SCHEMA_VERSION','2.9.1');"
      "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, "
      "localTime TEXT);"
      "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000,'','');"
      "CREATE TABLE WDDM_QUEUE_PACKET_STOP_EVENTS (start INT, end INT)");
  fill(old);
  NsysBuilder recent;
  fill(recent.session(utc));
  Trace a = old.trace();
  Trace b = recent.trace();
  EXPECT_EQ(a.metadata.texts.at("nsys_schema_version"), "2.9.1");
  for (Trace* trace : {&a, &b}) {
    trace->metadata.texts.clear();
    trace->metadata.text_bytes = 0;
  }
  EXPECT_EQ(test::text_of(a), test::text_of(b));
}

TEST(Nsys, WhatAnExportLacksIsSaidAndTheRestIsRead) {
  NsysBuilder b;
  b.kernel(100, 150, 11);
  b.sql("DROP TABLE StringIds");
  const Trace trace = b.trace();
  EXPECT_EQ(trace.slices.size(), 1u);
  EXPECT_EQ(trace.name(SliceId{0}), "unknown kernel");
  EXPECT_EQ(trace.metadata.clock, Clock::relative);
  for (const char* reason :
       {"missing_table_StringIds", "missing_table_NVTX_EVENTS", "no_session_start_time",
        "missing_table_CUPTI_ACTIVITY_KIND_RUNTIME", "kernel_without_name"})
    EXPECT_EQ(note(trace, reason), 1u) << reason;
}

TEST(Nsys, AMissingColumnIsNoError) {
  NsysBuilder b;
  b.session();
  b.sql(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, "
      "streamId INTEGER, globalPid INTEGER, shortName INTEGER)");
  b.sql("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1,5,2,9," +
        std::to_string(NsysBuilder::pid_of(3)) + "," + std::to_string(b.id("relu")) + ")");
  const Trace trace = b.trace();
  const SliceId kernel = find(trace, "relu");
  ASSERT_NE(kernel, no_slice);
  EXPECT_EQ(trace.slices.correlation[index(kernel)], 0u);
  EXPECT_EQ(trace.track(trace.slices.track[index(kernel)]).device_index, 2);
}

TEST(Nsys, RangesOpenAtTheEndOfTheCaptureEndWithIt) {
  NsysBuilder b;
  b.session().kernel(100, 150, 11).range(40, -1, "epoch");
  const Trace trace = b.trace();
  const SliceId open = find(trace, "epoch");
  ASSERT_NE(open, no_slice);
  EXPECT_EQ(trace.slices.dur[index(open)].count(), 100000 - 40);
  EXPECT_EQ(note(trace, "open_at_the_end"), 1u);
}

TEST(Nsys, RangesAreTextOrRegisteredPushedOrStartedAndMarksAreCounted) {
  NsysBuilder b;
  b.session().kernel(100, 150, 11).range(10, 20, "own text").range(30, 90, "started", 7, 70, 60);
  b.range(12, 18, "registered", 7, 70, 59, "NULL", true).range(15, -1, "a mark", 7, 70, 34);
  const Trace trace = b.trace();
  for (const char* name : {"own text", "started", "registered"}) {
    ASSERT_NE(find(trace, name), no_slice) << name;
    EXPECT_EQ(trace.slices.category[index(find(trace, name))], Category::user_annotation);
  }
  EXPECT_EQ(find(trace, "a mark"), no_slice);
  EXPECT_EQ(note(trace, "nvtx_mark_not_used"), 1u);
}

TEST(Nsys, WhatEmitNvtxWroteBecomesOperatorsWithTheirShapes) {
  NsysBuilder b;
  b.session().kernel(100, 150, 11);
  b.range(10, 90,
          "aten::mm, seq = 12, op_id = 7, sizes = [[8, 4], [4, 2]], input_op_ids = [[3,0]]");
  b.range(20, 30, "FSDP::pre_forward (blocks.3), op_id = 8");
  const Trace trace = b.trace();
  const SliceId mm = find(trace, "aten::mm");
  ASSERT_NE(mm, no_slice);
  EXPECT_EQ(trace.slices.category[index(mm)], Category::cpu_op);
  const std::uint32_t detail = trace.slices.detail[index(mm)];
  ASSERT_NE(detail, no_row);
  EXPECT_EQ(trace.strings[trace.ops.input_dims[detail]], "[[8, 4], [4, 2]]");
  EXPECT_EQ(trace.ops.sequence[detail], 12);
  EXPECT_EQ(trace.metadata.with_shapes, true);
  const SliceId fsdp = find(trace, "FSDP::pre_forward (blocks.3)");
  ASSERT_NE(fsdp, no_slice);
  EXPECT_EQ(trace.slices.category[index(fsdp)], Category::user_annotation);
}

TEST(Nsys, AWaitNamesTheStreamAndTheRecordThatItIsFor) {
  NsysBuilder b;
  b.session().kernel(100, 150, 11, "a", 7, 1, 7).kernel(200, 250, 12, "b", 7, 1, 13);
  const std::string pid = std::to_string(NsysBuilder::pid_of(7));
  b.sql(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId, contextId, streamId, correlationId, "
      "globalPid, eventId);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0,2,7,31," +
      pid + ",5),(0,2,7,41," + pid +
      ",5);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, end, deviceId, contextId, "
      "streamId, correlationId, globalPid, syncType, eventId);"
      // deviceId 0 is wrong, as nsys writes it: context 2 belongs to device 1.
      "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (60,61,0,2,13,35," +
      pid + ",2,5),(70,99,0,2,7,36," + pid + ",3,0)");
  const Trace trace = b.trace();
  const SliceId wait = find(trace, "Stream Wait Event");
  ASSERT_NE(wait, no_slice);
  EXPECT_EQ(trace.track(trace.slices.track[index(wait)]).device_index, 1);
  const std::uint32_t detail = trace.slices.detail[index(wait)];
  EXPECT_EQ(trace.syncs.stream[detail], 13);
  EXPECT_EQ(trace.syncs.wait_on_stream[detail], 7);
  EXPECT_EQ(trace.syncs.wait_on_record_correlation[detail], 31) << "the last before the wait";
  EXPECT_NE(find(trace, "Stream Sync"), no_slice);
}

TEST(Nsys, AGraphRecordedAsAWholeIsOneKernelAndSaid) {
  NsysBuilder b;
  b.session().call(1, 2, 5, "cudaGraphLaunch_v10000");
  b.sql(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, end, deviceId, contextId, streamId, "
      "correlationId, globalPid, graphId, graphExecId);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (10,90,0,1,7,5," +
      std::to_string(NsysBuilder::pid_of(7)) + ",3,4)");
  const Trace trace = b.trace();
  const SliceId graph = find(trace, "CUDA graph 3");
  ASSERT_NE(graph, no_slice);
  EXPECT_EQ(trace.slices.category[index(graph)], Category::kernel);
  EXPECT_EQ(note(trace, "cuda_graph_recorded_as_a_whole"), 1u);
}

TEST(Nsys, MemoryMetricsAndTheGpuComeAlong) {
  NsysBuilder b;
  b.session().kernel(100, 150, 11, "k", 7, 0);
  const std::string pid = std::to_string(NsysBuilder::pid_of(7));
  b.sql(
      "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start, globalPid, deviceId, address, bytes, "
      "memKind, memoryOperationType);"
      "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (5," +
      pid + ",0,64,1000,2,0),(9," + pid +
      ",0,64,1000,2,1);"
      "CREATE TABLE TARGET_INFO_GPU (id, name TEXT, totalMemory, smCount, computeMajor, "
      "computeMinor, uuid TEXT);"
      "INSERT INTO TARGET_INFO_GPU VALUES (3,'NVIDIA H100 80GB "
      "HBM3',85899345920,132,9,0,'554a-69');"
      "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId, cudaId, pid);"
      "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (3,0,7);"
      "CREATE TABLE TARGET_INFO_GPU_METRICS (typeId, metricId, metricName TEXT);"
      "INSERT INTO TARGET_INFO_GPU_METRICS VALUES (259,1,'SMs Active [Throughput %]');"
      "CREATE TABLE GPU_METRICS (timestamp, typeId, metricId, value);"
      "INSERT INTO GPU_METRICS VALUES (11,259,1,42)");
  const Trace trace = b.trace();
  ASSERT_EQ(trace.memory.size(), 2u);
  EXPECT_EQ(trace.memory.bytes[0].value, 1000);
  EXPECT_EQ(trace.memory.bytes[1].value, -1000);
  ASSERT_EQ(trace.metadata.devices.size(), 1u);
  EXPECT_EQ(trace.metadata.devices[0].name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(trace.metadata.devices[0].uuid, "554a-69");
  EXPECT_EQ(trace.metadata.devices[0].id, 0) << "the ordinal of the process, not the GPU's number";
  ASSERT_EQ(trace.counters.size(), 1u);
  EXPECT_EQ(trace.strings[trace.counters.metric[0]], "SMs Active [Throughput %]");
  EXPECT_EQ(trace.counters.value[0], 42);
}

TEST(Nsys, CallsOfTheSystemAndOverheadAreRowsOfTheirThreads) {
  NsysBuilder b;
  b.session().kernel(100, 150, 11).call(80, 90, 11);
  const std::string tid = std::to_string(NsysBuilder::tid_of(7, 70));
  b.sql(
      "CREATE TABLE OSRT_API (start, end, globalTid, nameId);"
      "CREATE TABLE PROFILER_OVERHEAD (start, end, globalTid, nameId);"
      "CREATE TABLE ThreadNames (nameId, priority, globalTid)");
  b.sql("INSERT INTO OSRT_API VALUES (1,9," + tid + "," + std::to_string(b.id("poll")) + ")");
  b.sql("INSERT INTO PROFILER_OVERHEAD VALUES (2,3," + tid + "," +
        std::to_string(b.id("CUDA profiling data flush")) + ")");
  b.sql("INSERT INTO ThreadNames VALUES (" + std::to_string(b.id("pt_main")) + ",20," + tid + ")");
  const Trace trace = b.trace();
  ASSERT_NE(find(trace, "poll"), no_slice);
  EXPECT_EQ(trace.slices.category[index(find(trace, "poll"))], Category::other);
  const SliceId overhead = find(trace, "CUDA profiling data flush");
  ASSERT_NE(overhead, no_slice);
  EXPECT_EQ(trace.slices.category[index(overhead)], Category::overhead);
  EXPECT_EQ(trace.strings[trace.track(trace.slices.track[index(overhead)]).thread_name], "pt_main");
}

TEST(Nsys, WithoutKernelsTheHostIsReadAndSaid) {
  NsysBuilder b;
  b.session().call(80, 90, 11).range(10, 95, "iteration 1");
  const Trace trace = b.trace();
  EXPECT_EQ(trace.slices.size(), 2u);
  EXPECT_EQ(note(trace, "missing_table_CUPTI_ACTIVITY_KIND_KERNEL"), 1u);
}

TEST(Nsys, RowsWithImpossibleTimesAreCountedNotUsed) {
  NsysBuilder b;
  b.session().kernel(100, 50, 1, "backwards").kernel(9'000'000'000'000'000'000, 1, 2, "far");
  b.kernel(1, 8'000'000'000'000'000'000, 3, "endless");
  const Trace trace = b.trace();
  EXPECT_EQ(test::broken_rule(trace), "");
  EXPECT_EQ(trace.slices.size(), 2u);
  EXPECT_EQ(trace.slices.dur[index(find(trace, "backwards"))].count(), 0);
  EXPECT_EQ(note(trace, "negative_duration"), 1u);
  EXPECT_EQ(note(trace, "timestamp_out_of_range"), 1u);
  EXPECT_EQ(note(trace, "duration_out_of_range"), 1u);
}

TEST(Nsys, ACaptureFromBeforeAllTimesHasNoLength) {
  NsysBuilder b;
  b.session().kernel(100, 150, 11).range(40, -1, "epoch");
  b.sql("UPDATE ANALYSIS_DETAILS SET duration = NULL, startTime = 1 << 63, stopTime = -1");
  const Trace trace = b.trace();
  EXPECT_EQ(test::broken_rule(trace), "");
  EXPECT_NE(find(trace, "epoch"), no_slice);
}

TEST(Nsys, TimesThatTheExportMadeAbsoluteAreLeftAlone) {
  NsysBuilder b;
  b.session(utc).kernel(utc + 100, utc + 150, 11);
  b.sql("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PARAM_TIME_NORMALIZE','true')");
  EXPECT_EQ(b.trace().slices.start[0].count(), utc + 100);
}

// Three steps of 100 ns, each with a range, a call, a kernel and NCCL's call. The second is read
// alone.
TEST(Nsys, AWindowKeepsWorkThatOverlapsItAndRangesThatLieWithin) {
  NsysBuilder b;
  b.session();
  const auto u64 = [](std::int64_t v) { return NsysBuilder::little_endian(v, 8); };
  const auto i32 = [](std::int64_t v) { return NsysBuilder::little_endian(v, 4); };
  b.nccl(1, 2, "ncclCommInitRankConfig", 11, u64(9) + i32(4) + i32(1) + u64(0));
  for (int step = 0; step < 3; ++step) {
    const std::int64_t at = 100 * step;
    b.range(at + 10, at + 90, "iteration " + std::to_string(step));
    b.call(at + 20, at + 25, step + 1).kernel(at + 30, at + 104, step + 1);
    b.nccl(at + 40, at + 50, "ncclAllReduce", 5, u64(9) + u64(4096) + u64(0));
  }
  auto read = b.read(TimeWindow{.from = Ns{105}, .until = Ns{205}});
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->size(), 1u);
  Trace& trace = read->front();
  seal(trace);
  EXPECT_EQ(test::broken_rule(trace), "");
  EXPECT_EQ(find(trace, "iteration 0"), no_slice);
  EXPECT_NE(find(trace, "iteration 1"), no_slice);
  EXPECT_EQ(find(trace, "iteration 2"), no_slice);
  // The range, NCCL's range, the call and the kernel of the second step, and no others.
  ASSERT_EQ(trace.slices.size(), 4u);
  EXPECT_EQ(note(trace, "outside_filter_time"), 9u);
  ASSERT_EQ(trace.collectives.size(), 1u);
  EXPECT_EQ(trace.collectives[0].group_size, 4) << "communicators are made before the window";

  auto both = b.read(TimeWindow{.from = Ns{104}, .until = Ns{231}});
  ASSERT_TRUE(both);
  EXPECT_EQ(both->front().slices.size(), 7u) << "kernels that reach into it, and the next call";
  // The window ends before the kernel that its call launched.
  auto ahead = b.read(TimeWindow{.from = Ns{105}, .until = Ns{128}});
  ASSERT_TRUE(ahead);
  EXPECT_EQ(ahead->front().slices.size(), 2u);
  EXPECT_NE(find(ahead->front(), "gemm"), no_slice);
  auto all = b.read(TimeWindow{});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->front().slices.size(), b.trace().slices.size());
  EXPECT_EQ(note(all->front(), "outside_filter_time"), 0u);
  const auto none = b.read(TimeWindow{.from = Ns{1000}});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message().find("--filter-time"), std::string::npos);
}

TEST(Nsys, AWindowNeedsTimesSinceTheCapturesStart) {
  NsysBuilder b;
  b.session(utc).kernel(utc + 100, utc + 150, 11);
  b.sql("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PARAM_TIME_NORMALIZE','true')");
  const auto read = b.read(TimeWindow{.from = Ns{0}, .until = Ns{500}});
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message().find("--ts-normalize"), std::string::npos);
}

TEST(Nsys, OtherDatabasesAreNamed) {
  const auto error_of = [](const std::string& sql) {
    NsysBuilder b;
    b.sql("DROP TABLE StringIds").sql(sql);
    const auto result = b.read();
    return result ? std::string("read") : result.error().message();
  };
  const std::string rocpd = error_of("CREATE TABLE rocpd_kernelapi (id)");
  EXPECT_NE(rocpd.find("AMD's rocprof"), std::string::npos);
  EXPECT_NE(rocpd.find("--output-format json"), std::string::npos);
  EXPECT_EQ(rocpd.find("nsys export"), std::string::npos);
  EXPECT_NE(error_of("CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (start)").find("nvprof"),
            std::string::npos);
  const std::string ascend = error_of("CREATE TABLE CANN_API (startNs, endNs)");
  EXPECT_NE(ascend.find("Ascend's profiler"), std::string::npos);
  EXPECT_EQ(ascend.find("nsys export"), std::string::npos);
  EXPECT_EQ(error_of("CREATE TABLE StepTraceTime (step, bubble)"), ascend);
  EXPECT_NE(error_of("CREATE TABLE moz_places (id)").find("its first table is moz_places"),
            std::string::npos);
  EXPECT_NE(error_of("CREATE TABLE META_DATA_EXPORT (name, value)").find("no CUDA work"),
            std::string::npos);
}

TEST(Nsys, AViewIsNoTable) {
  NsysBuilder b;
  b.session().range(1, 2, "r");
  b.sql(
      "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
      "SELECT i + 1 FROM n) SELECT i AS start, i AS end, i AS globalPid FROM n");
  const Trace trace = b.trace();
  EXPECT_EQ(trace.slices.size(), 1u);
  EXPECT_EQ(note(trace, "missing_table_CUPTI_ACTIVITY_KIND_KERNEL"), 1u);
}

TEST(Nsys, ADamagedPageEndsItsTableAndMarksTheImport) {
  NsysBuilder b;
  b.session();
  for (int i = 0; i < 2000; ++i) b.kernel(10 * i, 10 * i + 5, i + 1);
  std::string bytes = b.bytes();
  const std::size_t page = 4096;
  ASSERT_GT(bytes.size(), 12 * page);
  // Damages a leaf page of the large table in the middle of the file.
  for (std::size_t i = 0; i < page; ++i) bytes[bytes.size() / page / 2 * page + i] = '\xA5';
  auto result = read_nsys_bytes(bytes, "export.sqlite", {});
  ASSERT_TRUE(result.has_value()) << result.error().message();
  const Trace& trace = result->front();
  EXPECT_GT(trace.slices.size(), 0u);
  EXPECT_LT(trace.slices.size(), 2000u);
  EXPECT_TRUE(trace.notes.truncated);
  EXPECT_EQ(note(trace, "damaged_table_CUPTI_ACTIVITY_KIND_KERNEL"), 1u);
}

TEST(Nsys, MigrationsOfManagedMemoryHaveTheirCause) {
  NsysBuilder b;
  b.session().kernel(5, 8, 9);
  b.sql(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, contextId, streamId, "
      "correlationId, globalPid, bytes, copyKind, srcKind, dstKind, migrationCause)");
  const auto move = [&](int start, int kind, const std::string& cause) {
    b.sql("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (" + std::to_string(start) + "," +
          std::to_string(start + 5) + ",0,1,7,0," + std::to_string(NsysBuilder::pid_of(7)) +
          ",4096," + std::to_string(kind) + ",7,7," + cause + ")");
  };
  move(10, 11, "2");
  move(20, 12, "1");
  move(30, 13, "NULL");
  const Trace trace = b.trace();
  EXPECT_NE(find(trace, "Memcpy HtoD (Unified, page fault)"), no_slice);
  EXPECT_NE(find(trace, "Memcpy DtoH (Unified, prefetch)"), no_slice);
  EXPECT_NE(find(trace, "Memcpy DtoD (Unified)"), no_slice);
}

TEST(Nsys, AFailedAllocationIsMarkedWhereTheExportHasResults) {
  NsysBuilder b;
  b.session().kernel(100, 150, 11).call(80, 90, 11);
  EXPECT_FALSE(b.trace().metadata.texts.contains(std::string(call_results_key)));
  b.sql("ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME ADD COLUMN returnValue INTEGER DEFAULT 0");
  b.sql("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (91,95,0," +
        std::to_string(NsysBuilder::tid_of(7, 70)) + ",12," +
        std::to_string(b.id("cudaMalloc_v3020")) + ",2)");
  const Trace trace = b.trace();
  EXPECT_TRUE(trace.metadata.texts.contains(std::string(call_results_key)));
  EXPECT_NE(find(trace, "cudaMalloc (failed)"), no_slice);
  EXPECT_NE(find(trace, "cudaLaunchKernel"), no_slice);
}

TEST(Nsys, TheWarningAboutCudaIsKept) {
  NsysBuilder b;
  b.session().call(80, 90, 11, "cudaGetDevice_v3020");
  b.sql(
      "CREATE TABLE DIAGNOSTIC_EVENT (severity INTEGER, text TEXT);"
      "INSERT INTO DIAGNOSTIC_EVENT VALUES (2,'Not all CUDA events might have been collected.'),"
      "(2,'Installed CUDA driver version (13.3) is not supported.'),(1,'CUDA is fine')");
  EXPECT_EQ(b.trace().metadata.texts.at(std::string(profiler_warning_key)),
            "Installed CUDA driver version (13.3) is not supported.");
}

TEST(Nsys, AnExportWithoutActivitiesIsOneWhoseCaptureRecordedNothing) {
  NsysBuilder b;
  b.sql("CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT)");
  const auto read = read_nsys_bytes(b.bytes(), "empty.sqlite", {});
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().what.find("capture has no CUDA work"), std::string::npos)
      << read.error().what;
}

}  // namespace
}  // namespace stepscope
