// SPDX-License-Identifier: Apache-2.0
// Checks a native merged trace packet by packet. tests/roundtrip checks that it reads back the
// same; tests/roundtrip/perfetto_peer.py checks that Perfetto's own parser reads it.
#include "stepscope/write/perfetto_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>

#include "stepscope/base/proto_wire.h"
#include "stepscope/base/scratch_test_folder.h"
#include "stepscope/write/merged_trace.h"

namespace stepscope {
namespace {

constexpr std::int64_t perfetto_epoch = 1'700'000'000'500'000'000;

struct Event {
  std::uint64_t time = 0;
  std::uint64_t type = 0;
  std::uint64_t track = 0;
  std::uint64_t flow = 0;
  double value = 0;
  std::string category{};
  std::string name{};
  std::map<std::string, std::string> arguments{};
};

struct Row {
  std::uint64_t parent = 0;
  std::uint64_t pid = 0;
  std::optional<std::uint64_t> tid{};
  std::string name{};
  std::string description{};
  bool counter = false;
};

struct File {
  std::vector<Event> events;
  std::map<std::uint64_t, Row> rows;
  std::vector<std::uint64_t> realtime;  // of clock snapshots
  std::map<std::uint32_t, std::map<std::uint64_t, std::string>> texts;

  void packet(std::string_view bytes) {
    Event event;
    std::string_view inner;
    for (ProtoFields f(bytes); f.next();) {
      if (f.field() == 8) event.time = f.number();
      if (f.field() == 6) clocks(f.bytes());
      if (f.field() == 60) describe(f.bytes());
      if (f.field() == 11) inner = f.bytes();
      if (f.field() == 10) {
        EXPECT_EQ(f.number(), 1U);
      }
      if (f.field() == 12) intern(f.bytes());
    }
    if (inner.empty()) return;
    for (ProtoFields f(inner); f.next();) {
      if (f.field() == 9) event.type = f.number();
      if (f.field() == 11) event.track = f.number();
      if (f.field() == 47) event.flow = f.number();
      if (f.field() == 44) event.value = f.real();
      if (f.field() == 3) event.category = texts[1].at(f.number());
      if (f.field() == 10) event.name = texts[2].at(f.number());
      if (f.field() == 4) annotate(f.bytes(), event);
    }
    events.push_back(std::move(event));
  }
  void clocks(std::string_view bytes) {
    for (ProtoFields f(bytes); f.next();) {
      std::uint64_t id = 0;
      std::uint64_t time = 0;
      take_fields(f.bytes(), ProtoInto(1, id), ProtoInto(2, time));
      if (id == 1) realtime.push_back(time);
    }
  }
  void intern(std::string_view bytes) {
    for (ProtoFields f(bytes); f.next();) {
      std::uint64_t iid = 0;
      std::string text;
      take_fields(f.bytes(), ProtoInto(1, iid), ProtoInto(2, text));
      EXPECT_NE(iid, 0U);
      EXPECT_TRUE(texts[f.field()].emplace(iid, text).second) << "twice: " << text;
    }
  }
  void describe(std::string_view bytes) {
    Row row;
    std::uint64_t uuid = 0;
    for (ProtoFields f(bytes); f.next();) {
      if (f.field() == 1) uuid = f.number();
      if (f.field() == 5) row.parent = f.number();
      if (f.field() == 2) row.name = f.bytes();
      if (f.field() == 14) row.description = f.bytes();
      if (f.field() == 8) row.counter = true;
      if (f.field() != 3 && f.field() != 4) continue;
      for (ProtoFields g(f.bytes()); g.next();) {
        if (g.field() == 1) row.pid = g.number();
        if (f.field() == 4 && g.field() == 2) row.tid = g.number();
        if (g.field() == (f.field() == 3 ? 6U : 5U)) row.name = g.bytes();
      }
    }
    EXPECT_TRUE(rows.emplace(uuid, row).second);
  }
  void annotate(std::string_view bytes, Event& event) {
    std::string key;
    std::string value;
    for (ProtoFields f(bytes); f.next();) {
      if (f.field() == 1) key = texts[3].at(f.number());
      if (f.field() == 4) value = std::to_string(static_cast<std::int64_t>(f.number()));
      if (f.field() == 5) value = std::to_string(f.real());
      if (f.field() == 6) value = f.bytes();
      if (f.field() == 17) value = texts[29].at(f.number());
    }
    EXPECT_TRUE(event.arguments.emplace(key, value).second) << key;
  }
  [[nodiscard]] Event only(std::uint64_t type, const std::string& name) const {
    const auto is = [&](const Event& e) { return e.type == type && e.name == name; };
    EXPECT_EQ(std::ranges::count_if(events, is), 1) << name;
    const auto at = std::ranges::find_if(events, is);
    return at == events.end() ? Event() : *at;
  }
};

File write_perfetto(const std::vector<RankToWrite>& ranks) {
  const test::Folder folder;
  const std::string path = folder.path / "merged.pftrace";
  EXPECT_TRUE(write_merged_trace(ranks, path).has_value());
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  File file;
  ProtoFields f(bytes);
  while (f.next())
    if (f.field() == 1) file.packet(f.bytes());
  EXPECT_FALSE(f.damaged());
  return file;
}

Trace empty_perfetto_trace() {
  Trace t;
  t.metadata.clock = Clock::unix_epoch;
  t.tracks.push_back({.pid = 41, .tid = 42});
  t.tracks.push_back({.pid = 0, .tid = 7, .device = true, .device_index = 0});
  return t;
}

SliceId add_row(Trace& t, std::uint32_t track, Category category, std::string_view name,
                std::int64_t start, std::int64_t dur, std::uint32_t correlation = 0) {
  return append(t, {.start = Ns{perfetto_epoch + start},
                    .dur = Ns{dur},
                    .name = t.strings.intern(name),
                    .track = TrackId{track},
                    .category = category,
                    .correlation = correlation});
}

TEST(PerfettoTrace, GivesRanksProcessesOfTheirOwnInUnixTime) {
  Trace a = empty_perfetto_trace();
  add_row(a, 0, Category::cpu_op, "aten::mm", 1'234, 5'001);
  seal(a);
  Trace b = empty_perfetto_trace();
  add_row(b, 0, Category::other, "aten::mm", 2'000'000'002, 3);
  seal(b);
  const File file = write_perfetto({{2, &a}, {5, &b}});
  EXPECT_EQ(file.realtime, std::vector<std::uint64_t>{1'700'000'000'000'000'000});
  std::vector<std::string> processes;
  for (const auto& [uuid, row] : file.rows)
    if (row.parent == 0) processes.push_back(row.name + " " + std::to_string(row.pid));
  EXPECT_EQ(processes, (std::vector<std::string>{"rank 2: host 1", "rank 2: GPU 0 2",
                                                 "rank 5: host 3", "rank 5: GPU 0 4"}));
  std::vector<std::string> slices;
  for (const Event& e : file.events)
    if (e.type == 1 || e.type == 2)
      slices.push_back(std::to_string(e.type) + e.name + e.category + " " +
                       std::to_string(e.time - perfetto_epoch) + " pid " +
                       std::to_string(file.rows.at(e.track).pid) + " tid " +
                       std::to_string(file.rows.at(e.track).tid.value_or(0)));
  EXPECT_EQ(slices, (std::vector<std::string>{
                        "1aten::mmcpu_op 1234 pid 1 tid 42", "2 6235 pid 1 tid 42",
                        "1aten::mmother 2000000002 pid 3 tid 42", "2 2000000005 pid 3 tid 42"}));
}

TEST(PerfettoTrace, ShiftsARelativeClockThatCountsFromLater) {
  Trace a = empty_perfetto_trace();
  a.metadata.clock = Clock::relative;
  add_row(a, 0, Category::cpu_op, "first", -perfetto_epoch - 7, 1);
  add_row(a, 0, Category::cpu_op, "second", -perfetto_epoch + 5, 1);
  seal(a);
  const File file = write_perfetto({{0, &a}});
  EXPECT_TRUE(file.realtime.empty());
  EXPECT_EQ(file.only(1, "first").time, 0U);
  EXPECT_EQ(file.only(1, "second").time, 12U);
}

TEST(PerfettoTrace, JoinsALaunchAndItsWorkByAFlow) {
  Trace a = empty_perfetto_trace();
  add_row(a, 0, Category::runtime, "cudaLaunchKernel", 0, 10, 9);
  add_row(a, 0, Category::runtime, "cudaStreamSynchronize", 20, 10, 10);  // launches nothing
  add_row(a, 1, Category::kernel, "gemm", 30, 10, 9);
  seal(a);
  const File file = write_perfetto({{3, &a}});
  EXPECT_EQ(file.only(1, "cudaLaunchKernel").flow, 3 * (std::uint64_t{1} << 32) + 9);
  EXPECT_EQ(file.only(1, "gemm").flow, file.only(1, "cudaLaunchKernel").flow);
  EXPECT_EQ(file.only(1, "cudaStreamSynchronize").flow, 0U);
  EXPECT_EQ(file.only(1, "gemm").arguments.at("stream"), "7");
  EXPECT_EQ(file.only(1, "gemm").arguments.at("correlation"), "9");
}

TEST(PerfettoTrace, PutsOverlappingSlicesOnTracksOfTheirOwn) {
  Trace a = empty_perfetto_trace();
  for (const std::uint32_t track : {0U, 1U}) {
    add_row(a, track, track == 0 ? Category::cpu_op : Category::kernel, "first", 0, 100);
    add_row(a, track, track == 0 ? Category::cpu_op : Category::kernel, "inside", 10, 50);
    add_row(a, track, track == 0 ? Category::cpu_op : Category::kernel, "beyond", 90, 50);
    add_row(a, track, track == 0 ? Category::cpu_op : Category::kernel, "none", 100, 0);
    add_row(a, track, track == 0 ? Category::cpu_op : Category::kernel, "later", 140, 50);
  }
  seal(a);
  const File file = write_perfetto({{0, &a}});
  std::map<std::uint64_t, std::string> order;
  std::map<std::uint64_t, std::uint64_t> last;
  for (const Event& e : file.events) {
    if (e.type > 2) continue;
    EXPECT_GE(e.time, last[e.track]);
    last[e.track] = e.time;
    order[e.track] += e.type == 1 ? "(" + e.name : ")";
  }
  std::vector<std::string> rows;
  for (const auto& [uuid, text] : order) {
    const Row& row = file.rows.at(uuid);
    const Row& parent = file.rows.at(row.parent);
    rows.push_back(parent.name + (row.tid ? "/thread" : "/" + row.name + "/" + row.description) +
                   " " + text);
  }
  EXPECT_EQ(rows, (std::vector<std::string>{
                      "rank 0: host/thread (first(inside))(none)(later)",
                      "rank 0: GPU 0/stream 7/tid 7 (first(inside))(none)(later)",
                      "/thread 42/tid 42 (beyond)", "rank 0: GPU 0/stream 7/tid 7 (beyond)"}));
}

TEST(PerfettoTrace, HasCountersMemoryAndWhatEachRankSaysOfItself) {
  Trace a = empty_perfetto_trace();
  add_row(a, 0, Category::cpu_op, "aten::empty", 0, 10);
  for (const double watts : {350.0, 0.25}) {
    a.counters.time.push_back(Ns{perfetto_epoch + 8});
    a.counters.metric.push_back(a.strings.intern("power"));
    a.counters.value.push_back(watts);
    a.counters.slice.push_back(no_slice);
  }
  const SliceId range = add_row(a, 1, Category::profiler_range, "gemm", 100, 1);
  a.counters.time.push_back(Ns{perfetto_epoch});
  a.counters.metric.push_back(a.strings.intern("dram"));
  a.counters.value.push_back(0.5);
  a.counters.slice.push_back(range);
  a.memory.time.push_back(Ns{perfetto_epoch + 5});
  a.memory.track.push_back(TrackId{0});
  a.memory.address.push_back(1234);
  a.memory.bytes.push_back(Bytes{-512});
  a.memory.total_allocated.push_back(Bytes{2048});
  a.memory.total_reserved.push_back(Bytes{-1});
  a.memory.device.push_back(0);
  a.metadata.world_size = 16;
  seal(a);
  const File file = write_perfetto({{6, &a}});
  std::vector<double> watts;
  for (const Event& e : file.events) {
    if (e.type != 4) continue;
    watts.push_back(e.value);
    EXPECT_TRUE(file.rows.at(e.track).counter);
    EXPECT_EQ(file.rows.at(e.track).name, "power");
  }
  EXPECT_EQ(watts, (std::vector<double>{350, 0.25}));
  EXPECT_EQ(file.only(1, "gemm").arguments.at("dram"), "0.500000");
  const Event memory = file.only(3, "[memory]");
  EXPECT_EQ(memory.arguments.at("Bytes"), "-512");
  EXPECT_EQ(memory.arguments.at("Total Allocated"), "2048");
  EXPECT_FALSE(memory.arguments.contains("Total Reserved"));
  const std::string said = file.only(3, "rank metadata").arguments.at("stepscopeRanks");
  EXPECT_NE(said.find(R"("rank":6,"world_size":16)"), std::string::npos) << said;
}

TEST(PerfettoTrace, HasATrackOfMarksInTheProcessOfTheirRank) {
  Trace a = empty_perfetto_trace();
  add_row(a, 0, Category::cpu_op, "aten::mm", 0, 100);
  seal(a);
  const auto mark = [](std::int64_t start, std::int64_t time, const char* what) {
    return TraceMark{Ns{perfetto_epoch + start}, Ns{time}, what, "look"};
  };
  // The second overlaps the first without nesting, the third is inside the second.
  const File file = write_perfetto(
      {{2, &a, {mark(40, 50, "second"), mark(0, 60, "first"), mark(40, 20, "third")}}});
  const Event first = file.only(1, "first");
  const Event second = file.only(1, "second");
  const Event third = file.only(1, "third");
  EXPECT_EQ(first.category, "stepscope_finding");
  EXPECT_EQ(first.time, static_cast<std::uint64_t>(perfetto_epoch));
  EXPECT_EQ(first.arguments.at("advice"), "look");
  EXPECT_EQ(file.rows.at(first.track).name, "stepscope findings");
  EXPECT_EQ(file.rows.at(file.rows.at(first.track).parent).name, "rank 2: host");
  EXPECT_NE(second.track, first.track);
  EXPECT_EQ(file.rows.at(second.track).name, "stepscope findings");
  EXPECT_EQ(third.track, first.track);
  std::vector<std::uint64_t> ends;
  for (const Event& e : file.events)
    if (e.type == 2 && e.track == first.track) ends.push_back(e.time - perfetto_epoch);
  EXPECT_EQ(ends, (std::vector<std::uint64_t>{60, 60}));
}

TEST(PerfettoTrace, IsWholeOrNotThere) {
  Trace a = empty_perfetto_trace();
  add_row(a, 0, Category::cpu_op, "aten::mm", 0, 10);
  seal(a);
  const test::Folder folder;
  StopFlag stop;
  stop.request();
  const std::vector<RankToWrite> ranks = {{0, &a}};
  const auto written = write_merged_trace(ranks, folder.path / "merged.pftrace", &stop);
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, ErrorCode::interrupted);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path));
  std::filesystem::create_symlink("/dev/full", folder.path / "full.pftrace");
  const auto full = write_merged_trace(ranks, folder.path / "full.pftrace");
  ASSERT_FALSE(full.has_value());
  EXPECT_NE(full.error().message().find("No space left"), std::string::npos);
  EXPECT_FALSE(full.error().hint.empty());
}

TEST(MergedTrace, HasTheFormatOfItsName) {
  Trace a = empty_perfetto_trace();
  add_row(a, 0, Category::cpu_op, "aten::mm", 0, 10);
  seal(a);
  const test::Folder folder;
  const std::vector<RankToWrite> ranks = {{0, &a}};
  std::string first;
  for (const char* name : {"a.pftrace", "a.perfetto-trace", "a.json", "a", "a.pftrace.gz"}) {
    ASSERT_TRUE(write_merged_trace(ranks, folder.path / name).has_value());
    first += static_cast<char>(std::ifstream(folder.path / name, std::ios::binary).get());
  }
  EXPECT_EQ(first, "\n\n{{\x1f");
}

}  // namespace
}  // namespace stepscope
