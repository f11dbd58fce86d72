// SPDX-License-Identifier: Apache-2.0
// Checks a merged trace row by row. tests/roundtrip checks that it reads back the same.
#include "stepscope/write/chrome_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "stepscope/base/scratch_test_folder.h"

namespace stepscope {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t epoch = 1'700'000'000'500'000'000;

Trace empty_trace() {
  Trace t;
  t.metadata.clock = Clock::unix_epoch;
  t.tracks.push_back({.pid = 41, .tid = 42});
  t.tracks.push_back({.pid = 0, .tid = 7, .device = true, .device_index = 0});
  return t;
}

SliceId add(Trace& t, std::uint32_t track, Category category, std::string_view name,
            std::int64_t start, std::int64_t dur, std::uint32_t correlation = 0,
            std::uint32_t detail = no_row) {
  return append(t, {.start = Ns{epoch + start},
                    .dur = Ns{dur},
                    .name = t.strings.intern(name),
                    .track = TrackId{track},
                    .category = category,
                    .correlation = correlation,
                    .detail = detail});
}

Json write(const std::vector<RankToWrite>& ranks) {
  const test::Folder folder;
  const std::string path = folder.file("merged.json");
  EXPECT_TRUE(write_chrome_trace(ranks, path).has_value());
  std::ifstream in(path);
  return Json::parse(in);
}

std::vector<Json> rows(const Json& trace, const std::string& phase, const std::string& name = "") {
  std::vector<Json> found;
  for (const Json& event : trace.at("traceEvents"))
    if (event.at("ph") == phase && (name.empty() || event.at("name") == name))
      found.push_back(event);
  return found;
}

Json only(const Json& trace, const std::string& phase, const std::string& name = "") {
  const std::vector<Json> found = rows(trace, phase, name);
  EXPECT_EQ(found.size(), 1U) << phase << ' ' << name;
  return found.empty() ? Json() : found.front();
}

TEST(ChromeTrace, GivesRanksProcessesOfTheirOwnOnOneTimeAxis) {
  Trace a = empty_trace();
  add(a, 0, Category::cpu_op, "aten::mm", 1'234, 5'001);
  seal(a);
  Trace b = empty_trace();
  add(b, 0, Category::cpu_op, "aten::add", 2'000'000'002, 3);
  seal(b);
  const Json trace = write({{2, &a}, {5, &b}});
  EXPECT_EQ(trace.at("baseTimeNanoseconds"), 1'700'000'000'000'000'000);
  const Json mm = only(trace, "X", "aten::mm");
  const Json sum = only(trace, "X", "aten::add");
  EXPECT_NE(mm.at("pid"), sum.at("pid"));
  EXPECT_EQ(mm.at("tid"), 42);
  EXPECT_DOUBLE_EQ(mm.at("ts"), 500'001.234);
  EXPECT_DOUBLE_EQ(mm.at("dur"), 5.001);
  EXPECT_DOUBLE_EQ(sum.at("ts"), 2'500'000.002);
  std::vector<std::string> names;
  for (const Json& row : rows(trace, "M", "process_name"))
    names.push_back(row.at("args").at("name"));
  EXPECT_EQ(names, (std::vector<std::string>{"rank 2: host", "rank 2: GPU 0", "rank 5: host",
                                             "rank 5: GPU 0"}));
}

TEST(ChromeTrace, KeepsRelativeClocksAsTheyAre) {
  Trace a = empty_trace();
  a.metadata.clock = Clock::relative;
  add(a, 0, Category::cpu_op, "aten::mm", 7 - epoch, 1);
  seal(a);
  const Json trace = write({{0, &a}});
  EXPECT_EQ(trace.at("baseTimeNanoseconds"), 0);
  EXPECT_DOUBLE_EQ(only(trace, "X").at("ts"), 0.007);
}

TEST(ChromeTrace, DrawsAnArrowFromALaunchToItsWork) {
  Trace a = empty_trace();
  add(a, 0, Category::runtime, "cudaLaunchKernel", 0, 10, 9);
  add(a, 0, Category::runtime, "cudaStreamSynchronize", 20, 10, 10);  // launches nothing
  add(a, 1, Category::kernel, "gemm", 30, 10, 9);
  add(a, 1, Category::kernel, "launched before the trace began", 50, 10, 3);
  seal(a);
  const Json trace = write({{3, &a}});
  const Json from = only(trace, "s");
  const Json to = only(trace, "f");
  EXPECT_EQ(from.at("id"), to.at("id"));
  EXPECT_EQ(to.at("bp"), "e");
  EXPECT_EQ(from.at("ts"), only(trace, "X", "cudaLaunchKernel").at("ts"));
  EXPECT_EQ(to.at("ts"), only(trace, "X", "gemm").at("ts"));
  EXPECT_EQ(to.at("tid"), 7);
}

TEST(ChromeTrace, PutsOverlappingKernelsOfAStreamOnRowsOfTheirOwn) {
  Trace a = empty_trace();
  add(a, 1, Category::kernel, "first", 0, 100);
  add(a, 1, Category::kernel, "inside", 10, 50);
  add(a, 1, Category::kernel, "beyond", 90, 50);
  add(a, 1, Category::kernel, "later", 140, 50);
  seal(a);
  const Json trace = write({{0, &a}});
  EXPECT_EQ(only(trace, "X", "first").at("tid"), 7);
  EXPECT_EQ(only(trace, "X", "inside").at("tid"), 7);
  EXPECT_EQ(only(trace, "X", "later").at("tid"), 7);
  const Json beyond = only(trace, "X", "beyond");
  EXPECT_NE(beyond.at("tid"), 7);
  EXPECT_EQ(beyond.at("args").at("stream"), 7);
  EXPECT_LT(beyond.at("tid"), std::int64_t{1} << 32);
  bool named = false;
  for (const Json& row : rows(trace, "M", "thread_name"))
    named |= row.at("tid") == beyond.at("tid") && row.at("args").at("name") == "stream 7 (2)";
  EXPECT_TRUE(named);
}

TEST(ChromeTrace, KeepsShapesCopiesSyncsAndCollectives) {
  Trace a = empty_trace();
  a.ops.input_dims.push_back(a.strings.intern("[[8, 16], []]"));
  a.ops.input_types.push_back(a.strings.intern("not json"));
  a.ops.concrete_inputs.push_back(empty_string);
  a.ops.sequence.push_back(4);
  a.ops.forward_thread.push_back(0);
  add(a, 0, Category::cpu_op, "aten::mm", 0, 10, 0, 0);
  a.copies.bytes.push_back(Bytes{4096});
  add(a, 1, Category::memcpy, "Memcpy HtoD", 0, 10, 0, 0);
  a.syncs.stream.push_back(20);
  a.syncs.wait_on_stream.push_back(7);
  a.syncs.wait_on_record_correlation.push_back(99);
  add(a, 1, Category::sync, "Stream Wait Event", 20, 10, 0, 0);
  const SliceId kernel = add(a, 1, Category::kernel, "ncclDevKernel_Broadcast", 40, 10);
  a.collectives.push_back({.slice = kernel,
                           .name = a.strings.intern("broadcast"),
                           .group_name = a.strings.intern("0"),
                           .in_elements = 16,
                           .seq = 3,
                           .group_size = 4,
                           .rank = 2});
  seal(a);
  const Json trace = write({{0, &a}});
  const Json mm = only(trace, "X", "aten::mm").at("args");
  EXPECT_EQ(mm.at("Input Dims"), Json::parse("[[8, 16], []]"));
  EXPECT_EQ(mm.at("Input type"), "not json");
  EXPECT_EQ(mm.at("Sequence number"), 4);
  EXPECT_FALSE(mm.contains("Concrete Inputs"));
  EXPECT_EQ(only(trace, "X", "Memcpy HtoD").at("args").at("bytes"), 4096);
  const Json wait = only(trace, "X", "Stream Wait Event").at("args");
  EXPECT_EQ(wait.at("stream"), 20);
  EXPECT_EQ(wait.at("wait_on_stream"), 7);
  EXPECT_EQ(wait.at("wait_on_cuda_event_record_corr_id"), 99);
  const Json broadcast = only(trace, "X", "ncclDevKernel_Broadcast").at("args");
  EXPECT_EQ(broadcast.at("Collective name"), "broadcast");
  EXPECT_EQ(broadcast.at("In msg nelems"), 16);
  EXPECT_FALSE(broadcast.contains("Out msg nelems"));
  EXPECT_EQ(broadcast.at("Group size"), 4);
  EXPECT_EQ(broadcast.at("Seq"), 3);
  EXPECT_EQ(broadcast.at("Rank"), 2);
}

TEST(ChromeTrace, KeepsCountersOfKernelsAndOfTracks) {
  Trace a = empty_trace();
  for (int i = 0; i < 3; ++i) {
    const SliceId range =
        add(a, 1, Category::profiler_range, "gemm " + std::to_string(i), 100 - i, 1);
    a.counters.time.push_back(Ns{epoch});
    a.counters.metric.push_back(a.strings.intern("dram \"bytes\""));
    a.counters.value.push_back(0.5 + i);
    a.counters.slice.push_back(range);
  }
  a.counters.time.push_back(Ns{epoch + 8});
  a.counters.metric.push_back(a.strings.intern("power"));
  a.counters.value.push_back(350);
  a.counters.slice.push_back(no_slice);
  seal(a);
  const Json trace = write({{0, &a}});
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(only(trace, "X", "gemm " + std::to_string(i)).at("args").at("dram \"bytes\""),
              0.5 + i);
  EXPECT_EQ(only(trace, "C", "power").at("args").at("power"), 350);
}

TEST(ChromeTrace, KeepsMemoryEventsAndWhatEachRankSaysOfItself) {
  Trace a = empty_trace();
  add(a, 0, Category::cpu_op, "aten::empty", 0, 10);
  a.memory.time.push_back(Ns{epoch + 5});
  a.memory.track.push_back(TrackId{0});
  a.memory.address.push_back(1234);
  a.memory.bytes.push_back(Bytes{-512});
  a.memory.total_allocated.push_back(Bytes{2048});
  a.memory.total_reserved.push_back(Bytes{-1});
  a.memory.device.push_back(0);
  a.metadata.world_size = 16;
  a.metadata.with_shapes = true;
  a.metadata.devices.push_back({.id = 0, .name = "NVIDIA H100", .total_memory = Bytes{80}});
  a.metadata.groups.push_back(
      {.name = "1", .description = "mesh_tp", .backend = "cuda:nccl", .size = 2, .ranks = {0, 1}});
  a.metadata.texts["host_name"] = "n1";
  seal(a);
  const Json trace = write({{6, &a}});
  const Json event = only(trace, "i", "[memory]");
  EXPECT_EQ(event.at("s"), "t");
  EXPECT_EQ(event.at("args").at("Bytes"), -512);
  EXPECT_EQ(event.at("args").at("Addr"), 1234);
  EXPECT_EQ(event.at("args").at("Total Allocated"), 2048);
  EXPECT_FALSE(event.at("args").contains("Total Reserved"));
  const Json said = trace.at("stepscopeRanks").at(0);
  EXPECT_EQ(said.at("distributedInfo").at("rank"), 6);
  EXPECT_EQ(said.at("distributedInfo").at("world_size"), 16);
  EXPECT_EQ(said.at("distributedInfo").at("pg_config").at(0).at("pg_desc"), "mesh_tp");
  EXPECT_EQ(said.at("deviceProperties").at(0).at("name"), "NVIDIA H100");
  EXPECT_EQ(said.at("record_shapes"), 1);
  EXPECT_FALSE(said.contains("with_stack"));
  EXPECT_EQ(said.at("host_name"), "n1");
}

TEST(ChromeTrace, HasARowOfMarksInTheProcessOfTheirRank) {
  Trace a = empty_trace();
  add(a, 0, Category::cpu_op, "aten::mm", 0, 100);
  seal(a);
  const Json trace = write(
      {{2, &a, {{Ns{epoch + 40}, Ns{50}, "second", ""}, {Ns{epoch}, Ns{60}, "first", "look"}}}});
  const Json first = only(trace, "X", "first");
  const Json second = only(trace, "X", "second");
  EXPECT_EQ(first.at("cat"), "stepscope_finding");
  EXPECT_EQ(first.at("pid"), only(trace, "X", "aten::mm").at("pid"));
  EXPECT_DOUBLE_EQ(first.at("ts"), 500'000.0);
  EXPECT_DOUBLE_EQ(first.at("dur"), 0.06);
  EXPECT_EQ(first.at("args").at("advice"), "look");
  EXPECT_FALSE(second.at("args").contains("advice"));
  EXPECT_NE(second.at("tid"), first.at("tid"));
  for (const Json& row : {first, second}) {
    const auto names = rows(trace, "M", "thread_name");
    EXPECT_TRUE(std::ranges::any_of(names, [&](const Json& n) {
      return n.at("tid") == row.at("tid") && n.at("args").at("name") == "stepscope findings";
    }));
  }
}

TEST(ChromeTrace, OfARequestToStopIsNotWritten) {
  Trace a = empty_trace();
  add(a, 0, Category::cpu_op, "aten::mm", 0, 10);
  seal(a);
  const test::Folder folder;
  StopFlag stop;
  stop.request();
  const std::vector<RankToWrite> ranks = {{0, &a}};
  const auto written = write_chrome_trace(ranks, folder.file("merged.json"), &stop);
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, ErrorCode::interrupted);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path));
}

}  // namespace
}  // namespace stepscope
