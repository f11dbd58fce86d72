// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/kineto/xplane.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "stepscope/base/files/text_source.h"
#include "stepscope/base/proto_wire.h"
#include "stepscope/event/trace_test_text.h"
#include "stepscope/read/perfetto/perfetto.h"

namespace stepscope {
namespace {

std::string number(std::uint32_t field, std::uint64_t value) {
  std::string out;
  append_number(out, field, value);
  return out;
}
std::string bytes(std::uint32_t field, std::string_view value) {
  std::string out;
  append_bytes(out, field, value);
  return out;
}
std::string joined(std::initializer_list<std::string> parts) {
  std::string out;
  for (const std::string& part : parts) out += part;
  return out;
}

// An entry of a table of names.
std::string name(std::uint32_t field, std::uint64_t id, std::string_view text) {
  return bytes(field, number(1, id) + bytes(2, number(1, id) + bytes(2, text)));
}
std::string event(std::uint64_t id, std::uint64_t offset_ns, std::uint64_t dur_ns,
                  const std::string& statistics = {}) {
  return bytes(4, joined({number(1, id), number(2, offset_ns * 1000), number(3, dur_ns * 1000),
                          statistics}));
}
std::string statistic(std::uint64_t id, std::uint64_t value) {
  return bytes(4, number(1, id) + number(4, value));
}
std::string line(std::uint64_t id, std::string_view text, std::uint64_t begin_ns,
                 const std::string& events) {
  return bytes(3, joined({number(1, id), bytes(2, text), number(3, begin_ns), events}));
}
std::string plane(std::string_view text, const std::string& rest) {
  return bytes(1, joined({number(1, 1), bytes(2, text), rest}));
}

Result<std::vector<Trace>> read_xplane_text(std::string_view text, std::size_t window = 1 << 16) {
  TextSource source(text);
  return read_xplane_from(source, "text", {.chunk_bytes = window});
}

std::string profile() {
  const std::string host =
      plane("/host:CPU",
            joined({line(11, "main", 1000,
                         joined({event(1, 0, 900, statistic(5, 3)), event(2, 10, 80),
                                 event(3, 100, 50, bytes(4, number(1, 6) + bytes(5, "dot.1")))})),
                    name(4, 1, "train"), name(4, 2, "$model.py:12 loss"), name(4, 3, "dot"),
                    name(5, 5, "step_num"), name(5, 6, "hlo_op")}));
  const std::string calls =
      plane("/host:CUPTI", joined({line(11, "main", 1000, event(1, 200, 10, statistic(2, 77))),
                                   name(4, 1, "cuLaunchKernel"), name(5, 2, "correlation_id")}));
  const std::string device =
      plane("/device:GPU:1",
            joined({line(13, "Stream #13(Compute)", 1000,
                         event(1, 300, 100, statistic(2, 77)) + event(2, 450, 5)),
                    line(99, "XLA Modules", 1000, event(1, 300, 100)), name(4, 1, "fusion_3"),
                    name(4, 2, "MemcpyH2D"), name(5, 2, "correlation_id")}));
  return host + calls + device + bytes(4, "n1");
}

TEST(Xplane, HostCallsAndStreams) {
  auto traces = read_xplane_text(profile());
  ASSERT_TRUE(traces) << traces.error().message();
  ASSERT_EQ(traces->size(), 1U);
  Trace& t = traces->front();
  seal(t);
  EXPECT_EQ(test::broken_rule(t), "");
  ASSERT_EQ(t.slices.size(), 6U);
  std::map<std::string_view, std::uint32_t> at;
  for (std::uint32_t i = 0; i < 6; ++i) at[t.strings[t.slices.name[i]]] = i;
  const auto category = [&](const char* which) { return t.slices.category[at.at(which)]; };
  EXPECT_EQ(category("train#3"), Category::user_annotation);
  EXPECT_EQ(category("$model.py:12 loss"), Category::python_function);
  EXPECT_EQ(category("dot"), Category::cpu_op);
  EXPECT_EQ(category("cuLaunchKernel"), Category::driver);
  EXPECT_EQ(category("MemcpyH2D"), Category::memcpy);
  const std::uint32_t kernel = at.at("fusion_3");
  EXPECT_EQ(t.slices.category[kernel], Category::kernel);
  EXPECT_EQ(t.slices.start[kernel] - t.slices.start[at.at("cuLaunchKernel")], Ns{100});
  EXPECT_EQ(t.slices.dur[kernel], Ns{100});
  EXPECT_EQ(t.slices.correlation[kernel], 77U);
  EXPECT_EQ(t.slices.correlation[at.at("cuLaunchKernel")], 77U);
  const Track& stream = t.tracks[index(t.slices.track[kernel])];
  EXPECT_EQ(stream.device_index, 1);
  EXPECT_EQ(stream.tid, 13);
  EXPECT_EQ(t.notes.counts.at("rows_not_of_a_stream"), 1U);
  EXPECT_EQ(t.metadata.clock, Clock::relative);
  EXPECT_EQ(t.metadata.texts.at("host_name"), "n1");
}

TEST(Xplane, TimesCountFromTheProfilesBeginning) {
  constexpr std::uint64_t begin = 1'763'900'000'000'000'000;
  const std::string environment =
      plane("Task Environment",
            bytes(6, number(1, 4) + number(3, begin)) + name(5, 4, "profile_start_time"));
  auto traces = read_xplane_text(profile() + environment);
  ASSERT_TRUE(traces);
  EXPECT_EQ(traces->front().metadata.clock, Clock::unix_epoch);
  EXPECT_EQ(traces->front().slices.start[0], Ns{static_cast<std::int64_t>(begin) + 1000});
}

TEST(Xplane, IsTheSameInSmallWindows) {
  const auto whole = read_xplane_text(profile());
  const auto pieces = read_xplane_text(profile(), 7);
  ASSERT_TRUE(whole && pieces);
  EXPECT_EQ(test::text_of(whole->front()), test::text_of(pieces->front()));
}

TEST(Xplane, WhatWasCutGivesThePlanesBefore) {
  const std::string all = profile();
  const auto traces = read_xplane_text(std::string_view(all).substr(0, all.size() - 30));
  ASSERT_TRUE(traces) << traces.error().message();
  EXPECT_TRUE(traces->front().notes.truncated);
  EXPECT_EQ(traces->front().slices.size(), 4U);
}

TEST(Xplane, SaysThatItWasCutBeforeTheFirstPlaneEnds) {
  const auto traces = read_xplane_text(profile().substr(0, 60));
  ASSERT_FALSE(traces);
  EXPECT_NE(traces.error().message().find("is cut before"), std::string::npos);
}

TEST(Xplane, IsToldFromPerfetto) {
  EXPECT_TRUE(is_xplane(profile()));
  EXPECT_FALSE(is_xplane(""));
  const std::string packet = bytes(1, number(8, 5) + bytes(11, number(9, 1)));
  EXPECT_FALSE(is_xplane(packet));
  EXPECT_TRUE(is_perfetto(packet));
  const auto nothing =
      read_xplane_text(plane("/device:TPU:0", line(1, "XLA Ops", 0, event(1, 0, 5))));
  ASSERT_FALSE(nothing);
  EXPECT_NE(nothing.error().message().find("TPU"), std::string::npos);
}

// On ROCm the calls stand among the host's rows.
TEST(Xplane, ACallIsKnownByItsCorrelationInAnyPlane) {
  const std::string host =
      plane("/host:CPU",
            joined({line(11, "main", 1000, event(1, 200, 10, statistic(2, 77)) + event(1, 400, 10)),
                    name(4, 1, "hipModuleLaunchKernel"), name(5, 2, "correlation_id")}));
  auto traces = read_xplane_text(host);
  ASSERT_TRUE(traces);
  Trace& t = traces->front();
  seal(t);
  ASSERT_EQ(t.slices.size(), 2U);
  EXPECT_EQ(t.slices.category[0], Category::runtime);
  EXPECT_EQ(t.slices.correlation[0], 77U);
  EXPECT_EQ(t.slices.category[1], Category::user_annotation);
}

}  // namespace
}  // namespace stepscope
