// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/kineto/rocprof.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "stepscope/base/files/text_source.h"
#include "stepscope/event/trace_test_text.h"

namespace stepscope {
namespace {

constexpr std::string_view names = R"("strings": {"buffer_records": [
    {"kind": "NONE", "operations": []},
    {"kind": "HIP_RUNTIME_API", "operations": ["hipFree", "hipLaunchKernel"]},
    {"kind": "MARKER_CORE_API", "operations": ["roctxMarkA", "roctxRangePushA"]},
    {"kind": "MEMORY_COPY", "operations": ["NONE", "MEMORY_COPY_HOST_TO_DEVICE"]},
    {"kind": "KERNEL_DISPATCH", "operations": ["NONE", "KERNEL_DISPATCH_COMPLETE"]}],
  "marker_api": [{"key": 4, "value": "step"}]},
  "agents": [
    {"id": {"handle": 90}, "type": 1, "name": "EPYC"},
    {"id": {"handle": 91}, "type": 2, "name": "gfx942", "product_name": "AMD Instinct MI300X"},
    {"id": {"handle": 92}, "type": 2, "name": "gfx942", "product_name": ""}],
  "kernel_symbols": [
    {"kernel_id": 7, "kernel_name": "_Z4gemm.kd", "formatted_kernel_name": "gemm<float>"
},
    {"kernel_id": 8, "kernel_name": "add.kd", "formatted_kernel_name": ""}],)";

std::string file(std::string_view records) {
  return R"({"rocprofiler-sdk-tool": [{"metadata": {"pid": 40, "node": {"hostname": "n1"}},)" +
         std::string(names) + R"("buffer_records": {)" + std::string(records) + "}}]}";
}

Result<std::vector<Trace>> read(std::string_view text, std::size_t window = 1 << 16) {
  TextSource source(text);
  return read_rocprof_from(source, "text", {.chunk_bytes = window});
}

Trace rocprof_trace_of(std::string_view records) {
  auto traces = read(file(records));
  EXPECT_TRUE(traces.has_value()) << traces.error().message();
  if (!traces || traces->size() != 1) return {};
  seal(traces->front());
  EXPECT_EQ(test::broken_rule(traces->front()), "");
  return std::move(traces->front());
}

constexpr std::string_view all_kinds = R"(
  "kernel_dispatch": [
    {"kind": 4, "operation": 1, "thread_id": 41, "correlation_id": {"internal": 3, "external": 0},
     "start_timestamp": 20000, "end_timestamp": 30001, "stream_id": {"handle": 5},
     "dispatch_info": {"agent_id": {"handle": 92}, "queue_id": {"handle": 1}, "kernel_id": 7}},
    {"kind": 4, "operation": 1, "thread_id": 41, "correlation_id": {"internal": 5},
     "start_timestamp": 31000, "end_timestamp": 32000,
     "dispatch_info": {"agent_id": {"handle": 92}, "queue_id": {"handle": 6}, "kernel_id": 8}}],
  "hip_api": [
    {"kind": 1, "operation": 1, "thread_id": 41, "correlation_id": {"internal": 3},
     "start_timestamp": 5000, "end_timestamp": 9000}],
  "marker_api": [
    {"kind": 2, "operation": 1, "thread_id": 41, "correlation_id": {"internal": 4},
     "start_timestamp": 1000, "end_timestamp": 90000}],
  "memory_copy": [
    {"kind": 3, "operation": 1, "thread_id": 41, "correlation_id": {"internal": 6}, "bytes": 64,
     "start_timestamp": 40000, "end_timestamp": 41000,
     "dst_agent_id": {"handle": 91}, "src_agent_id": {"handle": 90}}])";

TEST(Rocprof, RowsOfEveryKind) {
  const Trace t = rocprof_trace_of(all_kinds);
  ASSERT_EQ(t.slices.size(), 5U);
  std::map<std::string_view, std::uint32_t> at;
  for (std::uint32_t i = 0; i < 5; ++i) at[t.strings[t.slices.name[i]]] = i;
  const std::uint32_t gemm = at.at("gemm<float>");
  EXPECT_EQ(t.slices.category[gemm], Category::kernel);
  EXPECT_EQ(t.slices.start[gemm], Ns{20000});
  EXPECT_EQ(t.slices.dur[gemm], Ns{10001});
  EXPECT_EQ(t.slices.correlation[gemm], 3U);
  const Track& track = t.tracks[index(t.slices.track[gemm])];
  EXPECT_EQ(track.device_index, 1);
  EXPECT_EQ(track.tid, 5);
  const Track& queue = t.tracks[index(t.slices.track[at.at("add.kd")])];
  EXPECT_EQ(queue.tid, 6);
  EXPECT_EQ(t.slices.category[at.at("hipLaunchKernel")], Category::runtime);
  EXPECT_EQ(t.slices.correlation[at.at("hipLaunchKernel")], 3U);
  EXPECT_EQ(t.slices.category[at.at("step")], Category::user_annotation);
  const std::uint32_t copy = at.at("MEMORY_COPY_HOST_TO_DEVICE");
  EXPECT_EQ(t.slices.category[copy], Category::memcpy);
  EXPECT_EQ(t.copies.bytes[0].value, 64);
  EXPECT_EQ(t.tracks[index(t.slices.track[copy])].device_index, 0);
  EXPECT_EQ(t.metadata.format, "rocprof");
  EXPECT_EQ(t.metadata.clock, Clock::relative);
  EXPECT_EQ(t.metadata.texts.at("host_name"), "n1");
  ASSERT_EQ(t.metadata.devices.size(), 2U);
  EXPECT_EQ(t.metadata.devices[0].name, "AMD Instinct MI300X");
  EXPECT_EQ(t.metadata.devices[1].name, "gfx942");
  EXPECT_EQ(t.metadata.devices[1].id, 1);
}

TEST(Rocprof, IsTheSameInSmallWindows) {
  const auto whole = read(file(all_kinds));
  const auto pieces = read(file(all_kinds), 7);
  ASSERT_TRUE(whole && pieces);
  EXPECT_EQ(test::text_of(whole->front()), test::text_of(pieces->front()));
}

TEST(Rocprof, OneProcessWithoutAList) {
  std::string text = file(all_kinds);
  text.erase(text.find('['), 1);
  text.erase(text.rfind(']'), 1);
  const auto traces = read(text);
  ASSERT_TRUE(traces) << traces.error().message();
  EXPECT_EQ(traces->front().slices.size(), 5U);
}

TEST(Rocprof, RecordsThatSayTooLittleAreCounted) {
  const Trace t = rocprof_trace_of(R"("hip_api": [
      {"kind": 1, "operation": 0, "start_timestamp": 5, "end_timestamp": 9},
      {"kind": 1, "operation": 9, "start_timestamp": 5, "end_timestamp": 9},
      {"kind": 1, "operation": 0, "start_timestamp": "x", "end_timestamp": 9}, 3],
    "kernel_dispatch": [{"kind": 4, "start_timestamp": 5, "end_timestamp": 9}])");
  EXPECT_EQ(t.slices.size(), 1U);
  EXPECT_EQ(t.notes.events, 5U);
  EXPECT_EQ(t.notes.counts.at("missing_timestamp"), 2U);
  EXPECT_EQ(t.notes.counts.at("operation_without_a_name"), 1U);
  EXPECT_EQ(t.notes.counts.at("kernel_without_its_dispatch"), 1U);
}

TEST(Rocprof, SaysWhatIsWrongWithAFile) {
  const auto message = [](std::string_view text) {
    const auto traces = read(text);
    return traces ? std::string() : traces.error().message();
  };
  EXPECT_NE(message(file("")).find("without kernels"), std::string::npos) << message(file(""));
  const std::string cut = file(all_kinds).substr(0, 2000);
  EXPECT_NE(message(cut).find("byte"), std::string::npos) << message(cut);
  EXPECT_TRUE(is_rocprof(R"( { "rocprofiler-sdk-tool": [)"));
  EXPECT_FALSE(is_rocprof(R"({"traceEvents": [{"name": "rocprofiler-sdk-tool"}]})"));
  EXPECT_FALSE(is_rocprof(""));
}

}  // namespace
}  // namespace stepscope
