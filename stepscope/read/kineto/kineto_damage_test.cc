// SPDX-License-Identifier: Apache-2.0
// Truncated files, several reading threads, files larger than any window, Ctrl-C.
#include <gtest/gtest.h>

#include <random>

#include "stepscope/base/byte_source_test_pack.h"
#include "stepscope/read/kineto/kineto.h"
#include "stepscope/read/kineto/kineto_test_source.h"

namespace stepscope {
namespace {

using test::all_text;
using test::document;
using test::gzip;
using test::joined;
using test::noted;
using test::op;
using test::slices_of;
using test::trace_of;
using test::traces_of;

const std::string small_trace = joined(
    {R"({"distributedInfo": {"rank": 1, "world_size": 2}, "traceEvents": [)", op("a"), ",\n",
     op("say \"b\"", "3", "1", R"(, "args": {"list": [{"ph": "X"}, 2], "External id": 5})"), ",",
     R"({"ph": "B", "name": "c", "pid": 1, "tid": 3, "ts": 5},)",
     R"({"ph": "E", "name": "c", "pid": 1, "tid": 3, "ts": 8}], "traceName": "x [1] {2}"})"});

TEST(KinetoDamage, ATraceCutAtAnyByteKeepsEveryCompleteEvent) {
  const std::size_t events = small_trace.find('[') + 1;
  std::vector<std::size_t> ends;  // the end of each event
  for (const std::string_view last :
       {"\"dur\": 1}", "\"External id\": 5}}", "\"ts\": 5}", "\"ts\": 8}"})
    ends.push_back(small_trace.find(last, events) + last.size());
  for (std::size_t cut = events + 1; cut < small_trace.size(); ++cut) {
    const std::string text = small_trace.substr(0, cut);
    const auto complete = static_cast<std::uint64_t>(
        std::ranges::count_if(ends, [&](std::size_t e) { return e <= cut; }));
    for (const ReadControl& control :
         {ReadControl{}, ReadControl{.threads = 2, .chunk_bytes = 50}}) {
      auto traces = test::read_text(text, control);
      if (complete == 0) {
        EXPECT_FALSE(traces.has_value()) << text;
        continue;
      }
      ASSERT_TRUE(traces.has_value()) << text;
      EXPECT_EQ((*traces)[0].notes.events, complete) << text;
      EXPECT_TRUE((*traces)[0].notes.truncated) << text;
    }
  }
  const Trace whole = trace_of(small_trace);
  EXPECT_FALSE(whole.notes.truncated);
  EXPECT_EQ(slices_of(whole), "a 0 1000, say \"b\" 3000 1000, c 5000 3000");
}

TEST(KinetoDamage, AGzipMemberCutAnywhereGivesWhatStandsBeforeTheCut) {
  std::string text = "{\"traceEvents\": [";
  for (int i = 0; i < 2000; ++i)
    text += joined({op(std::to_string(i * 7919 % 1000), std::to_string(i)), ","});
  const std::string packed = gzip(joined({text, op("last", "9999"), "]}"}));
  std::uint64_t before = 0;
  for (std::size_t cut = packed.size() / 4; cut < packed.size(); cut += packed.size() / 16) {
    const Trace t = trace_of(packed.substr(0, cut));
    EXPECT_TRUE(t.notes.truncated);
    EXPECT_EQ(noted(t, "cut_compression"), 1U);
    EXPECT_NE(t.metadata.texts.at("damage").find("cut after"), std::string::npos);
    EXPECT_GE(t.notes.events, before);
    before = t.notes.events;
  }
  EXPECT_GT(before, 1500U);
  EXPECT_EQ(trace_of(packed).notes.events, 2001U);
}

TEST(KinetoDamage, GzipMembersAreOneText) {
  const std::size_t half = small_trace.size() / 2;
  const Trace t =
      trace_of(joined({gzip(small_trace.substr(0, half)), gzip(small_trace.substr(half))}));
  EXPECT_EQ(slices_of(t), slices_of(trace_of(small_trace)));
  const auto none = test::read_text(gzip(small_trace).substr(0, 12));
  ASSERT_FALSE(none.has_value());
  EXPECT_NE(none.error().message().find("gzip"), std::string::npos);
}

// Several MiB with every kind of event: ties, edges, memory, counters, collectives, names, quotes
// to mend and damage.
std::string large_trace(std::size_t bytes, bool nested) {
  std::mt19937 random(7);
  std::string text = R"({"distributedInfo": {"rank": 1, "world_size": 2}, "traceEvents": [)";
  const auto number = [&](unsigned below) { return std::to_string(random() % below); };
  while (text.size() < bytes) {
    const std::string ts = number(3000);
    const std::string tid = number(5);
    const auto row = [&](std::string_view head, std::string_view tail) {
      text += joined(
          {R"({"ph": ")", head, R"(, "pid": 3, "tid": )", tid, R"(, "ts": )", ts, tail, "},\n"});
    };
    switch (random() % 12) {
      case 0:
        row(R"(X", "cat": "kernel", "name": "ncclKernel")",
            joined({R"(, "dur": 3, "args": {"device": )", number(4),
                    R"(, "Collective name": "allreduce", "Seq": )", number(99), "}"}));
        break;
      case 1:
        row(R"(X", "cat": "gpu_memcpy", "name": "Memcpy")",
            joined({R"(, "dur": 3, "args": {"bytes": )", number(9999), "}"}));
        break;
      case 2:
        row(R"(X", "cat": "cuda_sync", "name": "Wait")",
            joined({R"(, "dur": 3, "args": {"stream": )", number(9), "}"}));
        break;
      case 3:
        row(joined({R"(B", "name": "range)", number(3), "\""}), "");
        break;
      case 4:
        row(joined({R"(E", "name": "range)", number(3), "\""}), "");
        break;
      case 5:
        row(R"(i", "name": "[memory]")",
            joined({R"(, "args": {"Addr": )", number(50), R"(, "Bytes": )", number(512), "}"}));
        break;
      case 6:
        row(R"(C", "name": "c")", joined({R"(, "args": {"v": )", number(50), "}"}));
        break;
      case 7:
        row(R"(M", "name": "thread_name")",
            joined({R"(, "args": {"name": "t)", number(50), "\"}"}));
        break;
      case 8:
        if (random() % 20 == 0)
          text += op("say \"x\" y", ts) + ",\n";
        else if (random() % 20 == 0)
          text += R"({"ph": "X", "cat" 3},)";
        else if (nested)
          text +=
              op("n", ts, "2", R"(, "args": {"list": [{"ph": "X", "ts": 1}, {"name": "no"}]})") +
              ",\n";
        break;
      default:
        text += op(joined({"aten::op", number(300)}), ts, number(4),
                   joined({R"(, "args": {"External id": )", number(1000), R"(, "Input Dims": [[)",
                           number(64), "]]}"})) +
                ",\n";
    }
  }
  return joined({text, op("last", "9999"), R"(], "baseTimeNanoseconds": 1711964646000000000})"});
}

TEST(KinetoDamage, ThreadsDoNotChangeTheResult) {
  for (const bool nested : {false, true}) {
    const std::string text = large_trace(3 << 20, nested);
    const std::string expected = all_text(traces_of(text));
    EXPECT_GT(expected.size(), 1U << 20);
    for (const unsigned threads : {2U, 3U, 8U})
      for (const std::size_t chunk : {std::size_t{100'000}, std::size_t{1} << 20})
        ASSERT_EQ(all_text(traces_of(text, {.threads = threads, .chunk_bytes = chunk})), expected)
            << threads << ' ' << chunk;
    const std::string cut = text.substr(0, text.size() * 3 / 5);
    EXPECT_EQ(all_text(traces_of(cut, {.threads = 3, .chunk_bytes = 60'000})),
              all_text(traces_of(cut)));
  }
}

TEST(KinetoDamage, ChunksMayBeCutAnywhere) {
  const std::string text = large_trace(20'000, true);
  const std::string expected = all_text(traces_of(text));
  for (std::size_t chunk = 20; chunk < 3000; chunk += 37) {
    ASSERT_EQ(all_text(traces_of(text, {.chunk_bytes = chunk})), expected) << chunk;
    ASSERT_EQ(all_text(traces_of(text, {.threads = 2, .chunk_bytes = chunk})), expected) << chunk;
  }
}

TEST(KinetoDamage, AnEventMayBeLargerThanEveryWindow) {
  const std::string stack(3 << 20, 'x');
  std::string list = "[";
  for (int i = 0; i < 30'000; ++i) list += R"({"ph": "X", "name": "no"}, )";
  list += "1]";
  const std::string text = document(joined(
      {op("a"), ",",
       op("b", "3", "1",
          joined({R"(, "args": {"Call stack": ")", stack, R"(", "list": )", list,
                  R"(, "External id": 5})"})),
       ",", op("say \"c\"", "6", "1", joined({R"(, "args": {"Call stack": ")", stack, "\"}"})), ",",
       op("d", "9")}));
  for (const unsigned threads : {1U, 2U}) {
    const Trace t = trace_of(text, {.threads = threads, .chunk_bytes = 256 << 10});
    EXPECT_EQ(slices_of(t), "a 0 1000, b 3000 1000, say \"c\" 6000 1000, d 9000 1000");
    EXPECT_EQ(t.slices.external_id[1], 5U);
    EXPECT_EQ(t.notes.events, 4U);
  }
}

TEST(KinetoDamage, WhatSeemsAnEventOfMoreThanSixteenMebibytesIsDamage) {
  const std::string text =
      document(joined({op("a"), R"(,{"ph": "X", "args": {"list": [)", std::string(18 << 20, '1'),
                       ",", op("b", "3"), ",", op("c", "6")}));
  const Trace t = trace_of(text);
  EXPECT_NE(slices_of(t).find("a 0 1000"), std::string::npos);
  EXPECT_NE(slices_of(t).find("c 6000 1000"), std::string::npos);
  EXPECT_EQ(noted(t, "malformed_event"), 1U);
}

TEST(KinetoDamage, GarbageOfBracketsAndQuotesEndsSoon) {
  std::mt19937 random(1);
  std::string garbage(1 << 20, ' ');
  constexpr std::string_view alphabet = "\"{}[]:,\\ 1a";
  for (char& c : garbage) c = alphabet[random() % alphabet.size()];
  const Trace t = trace_of(document(joined({op("a"), ",", garbage, ",", op("z", "9")})));
  EXPECT_NE(slices_of(t).find("a 0 1000"), std::string::npos);
}

TEST(KinetoDamage, AStopEndsReadingAsInterrupted) {
  const std::string text = large_trace(1 << 20, false);
  StopFlag stop;
  stop.request();
  for (const unsigned threads : {1U, 2U}) {
    const auto traces = test::read_text(text, {.threads = threads, .stop = &stop});
    ASSERT_FALSE(traces.has_value());
    EXPECT_EQ(traces.error().code, ErrorCode::interrupted);
  }
}

TEST(KinetoDamage, BytesReadAddUpToTheInput) {
  const std::string text = large_trace(1 << 20, false);
  std::atomic<std::uint64_t> done{0};
  const Trace t = trace_of(text, {.bytes_read = &done, .chunk_bytes = 100'000});
  EXPECT_EQ(done.load(), text.size());
  EXPECT_EQ(t.metadata.text_bytes, text.size());
}

}  // namespace
}  // namespace stepscope
