// SPDX-License-Identifier: Apache-2.0
// Truncated, damaged and malicious Perfetto traces. Every whole packet is read, the rest is noted
// with its byte, and memory stays within a small multiple of the file.
#include <gtest/gtest.h>
#include <isa-l/igzip_lib.h>

#include "stepscope/read/files/formats.h"
#include "stepscope/read/perfetto/perfetto_test_packets.h"

namespace stepscope {
namespace {

using test::begin;
using test::bytes;
using test::end;
using test::joined;
using test::message;
using test::noted;
using test::number;
using test::packet;
using test::perfetto_trace;
using test::read_packets;
using test::row;
using test::slices_of;
using test::thread;

std::string zlib(std::string text) {
  isal_zstream stream;
  isal_deflate_init(&stream);
  stream.gzip_flag = IGZIP_ZLIB;
  stream.end_of_stream = 1;
  std::string out(text.size() + 1'000, '\0');
  stream.next_in = reinterpret_cast<std::uint8_t*>(text.data());
  stream.avail_in = static_cast<std::uint32_t>(text.size());
  stream.next_out = reinterpret_cast<std::uint8_t*>(out.data());
  stream.avail_out = static_cast<std::uint32_t>(out.size());
  EXPECT_EQ(isal_deflate(&stream), COMP_OK);
  out.resize(out.size() - stream.avail_out);
  return out;
}

TEST(PerfettoDamage, EveryCutGivesEveryWholePacket) {
  const std::vector<std::string> packets = {thread(1, 1, 2), begin(1, 10, "a"), begin(1, 12, "b"),
                                            end(1, 14), end(1, 20)};
  std::string whole;
  std::vector<std::size_t> ends = {0};
  for (const std::string& p : packets) ends.push_back((whole += p).size());
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);
    auto traces = read_packets(cut);
    const bool between = std::ranges::find(ends, size) != ends.end();
    if (size < ends[2]) {
      ASSERT_FALSE(traces.has_value()) << size;
      EXPECT_EQ(traces.error().byte, size);
      continue;
    }
    ASSERT_TRUE(traces.has_value()) << size;
    EXPECT_EQ((*traces)[0].notes.truncated, !between) << size;
    EXPECT_EQ(noted((*traces)[0], "truncated_event"), between ? 0U : 1U) << size;
    if (!between) {
      EXPECT_EQ((*traces)[0].notes.first_byte.at("truncated_event"),
                *std::prev(std::ranges::upper_bound(ends, size)));
    }
    EXPECT_EQ((*traces)[0].slices.size(), size < ends[3] ? 1U : 2U) << size;
  }
}

TEST(PerfettoDamage, ReadsOnBehindADamagedPacketAndStopsWhereThereIsNone) {
  const std::string broken = bytes(1, joined({number(8, 5), "\x0b"}));
  const Trace t = perfetto_trace(
      {begin(1, 10, "a"), broken, end(1, 20), std::string_view("\0\1", 2), begin(1, 30, "b")});
  EXPECT_EQ(slices_of(t), "a 10 10");
  EXPECT_EQ(noted(t, "damaged_packet"), 1U);
  EXPECT_EQ(noted(t, "not_a_packet"), 1U);
  EXPECT_TRUE(t.notes.truncated);
  EXPECT_EQ(t.notes.first_byte.at("damaged_packet"), begin(1, 10, "a").size());
  // Fields other than packets are skipped.
  EXPECT_EQ(slices_of(perfetto_trace({begin(1, 10, "a"), bytes(2, "later"), number(3, 1),
                                      test::real(4, 1), end(1, 20)})),
            "a 10 10");
}

TEST(PerfettoDamage, SmallWindowsReadTheSame) {
  const std::string text = joined({thread(1, 1, 2), begin(1, 10, std::string(5'000, 'x')),
                                   begin(1, 12, "b"), end(1, 14), end(1, 20)});
  const auto whole = read_packets(text);
  ASSERT_TRUE(whole.has_value());
  for (const std::size_t window : {1U, 7U, 100U}) {
    const auto pieces = read_packets(text, {.chunk_bytes = window});
    ASSERT_TRUE(pieces.has_value());
    EXPECT_EQ(test::text_of((*pieces)[0]), test::text_of((*whole)[0]));
  }
}

TEST(PerfettoDamage, ALengthThatLiesTakesNoMemory) {
  std::string huge = begin(1, 10, "a");
  huge += "\x0a\xff\xff\xff\xff\x0f";  // four gigabytes that do not exist
  auto traces = read_packets(huge);
  ASSERT_TRUE(traces.has_value());
  EXPECT_EQ(noted((*traces)[0], "oversized_packet"), 1U);
  EXPECT_TRUE((*traces)[0].notes.truncated);
}

TEST(PerfettoDamage, CompressedPacketsAreInflatedOnce) {
  const std::string inner = joined({begin(1, 10, "a"), end(1, 20)});
  const std::string packed = message(1, {bytes(50, zlib(inner))});
  EXPECT_EQ(slices_of(perfetto_trace({packed})), "a 10 10");
  const std::string twice = message(1, {bytes(50, zlib(packed))});
  const Trace t = perfetto_trace({begin(1, 5, "b"), end(1, 6), twice});
  EXPECT_EQ(slices_of(t), "b 5 1");
  EXPECT_EQ(noted(t, "damaged_packet"), 1U);
  std::string cut = zlib(inner);
  cut.resize(cut.size() / 2);
  const Trace half = perfetto_trace({begin(1, 5, "b"), end(1, 6), message(1, {bytes(50, cut)})});
  EXPECT_EQ(noted(half, "damaged_packet"), 1U);
}

TEST(PerfettoDamage, BeginsWithoutEndsAndEndsWithoutBegins) {
  const Trace t = perfetto_trace(
      {thread(1, 1, 2), end(1, 5), begin(1, 10, "a"), begin(1, 12, "b"), end(1, 14)});
  EXPECT_EQ(slices_of(t), "a 10 4, b 12 2");
  EXPECT_EQ(noted(t, "end_without_begin"), 1U);
  EXPECT_EQ(noted(t, "begin_without_end"), 1U);
  const Trace late =
      perfetto_trace({begin(1, 10, "a"), end(1, 10 + std::uint64_t{2'700'000'000'000'000})});
  EXPECT_EQ(slices_of(late), "a 10 0");
  EXPECT_EQ(noted(late, "duration_out_of_range"), 1U);
}

TEST(PerfettoDamage, ParentsInACircleAndDeepArguments) {
  std::string deep = number(4, 1);
  for (int i = 0; i < 200; ++i) deep = bytes(12, deep);
  const Trace t = perfetto_trace(
      {row(1, 2, "a"), row(2, 1, "b"),
       begin(1, 10, "x", "cpu_op", message(4, {bytes(10, "Input Dims"), deep})), end(1, 20)});
  EXPECT_EQ(slices_of(t), "x 10 10");
  EXPECT_EQ(noted(t, "oversized_argument"), 1U);
  EXPECT_EQ(t.ops.size(), 0U);
}

TEST(PerfettoDamage, NumberedTextsDoNotMakeSmallArgumentsLarge) {
  const std::string long_text =
      message(1, {number(10, 1),
                  message(12, {message(29, {number(1, 1), bytes(2, std::string(100'000, 'x'))})})});
  std::string list;
  for (int i = 0; i < 1'000; ++i) list += message(12, {number(17, 1)});
  const Trace t = perfetto_trace(
      {long_text, begin(1, 10, "x", "cpu_op", message(4, {bytes(10, "Input Dims"), list})),
       end(1, 20)});
  EXPECT_EQ(noted(t, "oversized_argument"), 1U);
}

TEST(PerfettoDamage, InstantsOfNoProfiler) {
  const Trace t =
      perfetto_trace({begin(1, 10, "a"), end(1, 20), begin(1, ~std::uint64_t{0} >> 1, "b"),
                      message(1, {number(10, 1), message(11, {number(9, 1), number(11, 1)})}),
                      packet(message(11, {number(9, 9), number(11, 1)}), 30)});
  EXPECT_EQ(slices_of(t), "a 10 10");
  EXPECT_EQ(noted(t, "timestamp_out_of_range"), 1U);
  EXPECT_EQ(noted(t, "missing_timestamp"), 1U);
  EXPECT_EQ(noted(t, "unknown_phase"), 1U);
}

TEST(PerfettoDamage, ATraceWithoutEventsSaysSo) {
  const auto traces = read_packets(joined({message(1, {bytes(1, "ftrace")}), thread(1, 1, 2)}));
  ASSERT_FALSE(traces.has_value());
  EXPECT_EQ(traces.error().what, "a Perfetto trace without track events (2 packets)");
  EXPECT_FALSE(traces.error().hint.empty());
}

TEST(PerfettoDamage, AStopEndsTheReading) {
  StopFlag stop;
  stop.request();
  const auto traces = read_packets(begin(1, 10, "a"), {.stop = &stop});
  ASSERT_FALSE(traces.has_value());
  EXPECT_EQ(traces.error().code, ErrorCode::interrupted);
}

TEST(PerfettoFormat, IsKnownByItsPackets) {
  const auto format = [](std::string_view head) {
    for (const Format& f : formats())
      if (f.matches(head)) return f.name;
    return std::string_view("none");
  };
  const std::string trace = joined({thread(1, 1, 2), begin(1, 10, "a"), end(1, 20)});
  for (std::size_t size = 1; size <= trace.size(); ++size)
    EXPECT_EQ(format(trace.substr(0, size)), "perfetto") << size;
  EXPECT_EQ(format("\n{\"traceEvents\": []}"), "kineto");
  EXPECT_EQ(format("\n\n  [\n {\"ph\": \"X\"}]"), "kineto");
  EXPECT_EQ(format("\nsome text that is nothing of the kind"), "kineto");
  EXPECT_EQ(format("{}"), "kineto");
  EXPECT_EQ(format(""), "kineto");
}

}  // namespace
}  // namespace stepscope
