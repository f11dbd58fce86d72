// SPDX-License-Identifier: Apache-2.0
// Whole files as trace writers produce them, well-formed or not.
#include "stepscope/read/kineto/kineto.h"

#include <gtest/gtest.h>

#include "stepscope/read/kineto/kineto_test_source.h"

namespace stepscope {
namespace {

using test::document;
using test::joined;
using test::noted;
using test::op;
using test::slices_of;
using test::trace_of;

TEST(Kineto, TimesBecomeNanosecondsOnTheUnixClock) {
  const Trace t =
      trace_of(joined({"{\"baseTimeNanoseconds\": 1711964646000000000, \"traceEvents\": [",
                       op("a", "1234567.891", "0.001"), "]}"}));
  EXPECT_EQ(slices_of(t), "a 1711964647234567891 1");
  EXPECT_EQ(t.metadata.clock, Clock::unix_epoch);
}

TEST(Kineto, TheBaseTimeAndTheRankMayStandBehindTheEvents) {
  const Trace t =
      trace_of(joined({"{\"traceEvents\": [", op("a", "5"),
                       "], \"distributedInfo\": {\"rank\": 3, \"world_size\": 8}, "
                       "\"baseTimeNanoseconds\": 1711964646000000000, \"traceName\": \"x\"}"}));
  EXPECT_EQ(slices_of(t), "a 1711964646000005000 1000");
  EXPECT_EQ(t.metadata.rank, 3);
  EXPECT_EQ(t.metadata.world_size, 8);
  EXPECT_FALSE(t.notes.truncated);
}

TEST(Kineto, EpochMicrosecondsWithoutABaseAreUnixToo) {
  EXPECT_EQ(trace_of(document(op("a", "1711964646000000.5"))).metadata.clock, Clock::unix_epoch);
  EXPECT_EQ(trace_of(document(op("a", "17.5"))).metadata.clock, Clock::relative);
}

TEST(Kineto, ARowWithoutATimeDoesNotMoveTheClock) {
  const std::string at = "1711964646000000";
  const std::string collective =
      R"(, "args": {"Collective name": "allreduce", "Process Group Name": "0"})";
  const std::string reading = R"({"ph": "C", "name": "sm", "pid": 1, "ts": 0, "args": {"sm": 1}})";
  const Trace t =
      trace_of(document(joined({op("lost", "0", "5", collective), ",", op("a", at, "2"), ",",
                                op("reduced", at, "1", collective), ",", reading})));
  EXPECT_EQ(t.metadata.clock, Clock::unix_epoch);
  EXPECT_EQ(slices_of(t), "a 1711964646000000000 2000, reduced 1711964646000000000 1000");
  ASSERT_EQ(t.collectives.size(), 1U);
  EXPECT_EQ(t.name(t.collectives[0].slice), "reduced");
  EXPECT_EQ(t.counters.size(), 0U);
  EXPECT_EQ(noted(t, "timestamp_out_of_range"), 2U);

  const Trace relative =
      trace_of(document(joined({op("a", "5"), ",", op("b", "7"), ",", op("lost", at)})));
  EXPECT_EQ(relative.metadata.clock, Clock::relative);
  EXPECT_EQ(slices_of(relative), "a 5000 1000, b 7000 1000");
}

TEST(Kineto, FindingsInAMergedTraceAreLeftOut) {
  const Trace t = trace_of(document(
      joined({op("a", "5"), R"(, {"ph": "X", "cat": "stepscope_finding", "name": "slow", "pid": 1,
                                  "tid": 2100000000, "ts": 1, "dur": 90, "args": {"rank": 1}})"})));
  EXPECT_EQ(slices_of(t), "a 5000 1000");
  EXPECT_EQ(t.tracks.size(), 1U);
  EXPECT_TRUE(t.notes.counts.empty());
}

TEST(Kineto, SizesThatNothingHasAreNotRecorded) {
  const Trace t = trace_of(document(
      R"({"ph": "X", "cat": "gpu_memcpy", "name": "c", "pid": 0, "tid": 7, "ts": 1, "dur": 2,
          "args": {"bytes": 4611686018427387904}},
         {"ph": "X", "cat": "kernel", "name": "nccl", "pid": 0, "tid": 7, "ts": 4, "dur": 2,
          "args": {"Collective name": "allreduce", "In msg nelems": 4611686018427387904,
                   "Out msg nelems": 1099511627776}},
         {"ph": "i", "name": "[memory]", "pid": 1, "tid": 2, "ts": 5, "args": {"Addr": 1,
          "Bytes": -9223372036854775808, "Total Allocated": 1125899906842624}})"));
  ASSERT_EQ(t.copies.size(), 1U);
  EXPECT_EQ(t.copies.bytes[0], Bytes{-1});
  ASSERT_EQ(t.collectives.size(), 1U);
  EXPECT_EQ(t.collectives[0].in_elements, -1);
  EXPECT_EQ(t.collectives[0].out_elements, 1099511627776);
  ASSERT_EQ(t.memory.size(), 1U);
  EXPECT_EQ(t.memory.bytes[0], Bytes{0});
  EXPECT_EQ(t.memory.total_allocated[0], Bytes{1125899906842624});
  EXPECT_EQ(noted(t, "size_out_of_range"), 3U);
}

TEST(Kineto, TheOrderOfKeysMeansNothing) {
  const Trace t = trace_of(
      R"({"traceEvents": [{"args": {"correlation": 4, "device": 1, "External id": 9}, "dur": 2,
          "ts": 1, "tid": 7, "name": "k", "pid": 1, "cat": "kernel", "ph": "X"}]})");
  EXPECT_EQ(slices_of(t), "k 1000 2000");
  EXPECT_EQ(t.slices.category[0], Category::kernel);
  EXPECT_EQ(t.slices.correlation[0], 4U);
  EXPECT_EQ(t.slices.external_id[0], 9U);
  EXPECT_EQ(t.tracks[0].device_index, 1);
}

TEST(Kineto, ABareArrayMayLackItsEnd) {
  for (const std::string end : {"]", "", ",", "\n", ", ]"}) {
    const Trace t = trace_of(joined({"[", op("a"), ",", op("b", "3"), end}));
    EXPECT_EQ(slices_of(t), "a 0 1000, b 3000 1000");
    EXPECT_FALSE(t.notes.truncated) << end;
  }
}

TEST(Kineto, CommasTooManyAByteOrderMarkAndSpaceMeanNothing) {
  const Trace t = trace_of(
      joined({"\xEF\xBB\xBF \n", document(joined({op("a"), ",,\n", op("b", "3"), ","})), "\n"}));
  EXPECT_EQ(slices_of(t), "a 0 1000, b 3000 1000");
  EXPECT_TRUE(t.notes.counts.empty());
}

TEST(Kineto, UnescapedQuotesStayInNames) {
  for (const std::string name : {"say \"a\" b", "one \" quote", "\"", "\"\"", "ends \"", "a\", \"b",
                                 "f(\"x\", {\"y\": 1})", "[\"q\"]"}) {
    const Trace t = trace_of(
        document(joined({op("first"), ",", op(name, "3", "2", R"(, "args": {"External id": 5})"),
                         ",", op("last", "9")})));
    ASSERT_EQ(slices_of(t), "first 0 1000, " + name + " 3000 2000, last 9000 1000");
    EXPECT_EQ(t.slices.external_id[1], 5U) << name;
    EXPECT_EQ(noted(t, "mended_event"), 1U) << name;
  }
}

TEST(Kineto, UnescapedQuotesInArgumentsDoNotHideTheOthers) {
  const Trace t = trace_of(
      document(joined({op("a", "0", "1",
                          R"(, "args": {"Call stack": "x "y" z", "Concrete Inputs": ["a "b"", ""],
          "External id": 5})"),
                       ",", op("b", "2")})));
  EXPECT_EQ(slices_of(t), "a 0 1000, b 2000 1000");
  EXPECT_EQ(t.slices.external_id[0], 5U);
}

TEST(Kineto, ABackslashMayEndAName) {
  for (const std::string more :
       {"", R"(, "args": {"kind": "Dispatch"})", R"(, "args": {"External id": 1})"}) {
    const Trace t =
        trace_of(document(joined({op("C:/a\\", "0", "1", more), ",", op("b", "2", "1", more)})));
    EXPECT_EQ(slices_of(t), "C:/a\\ 0 1000, b 2000 1000") << more;
  }
}

TEST(Kineto, EscapesAreDecoded) {
  const Trace t = trace_of(document(op(R"(q\"u\\o\/t\n\u00e9\ud83d\ude00\ud800\x)")));
  EXPECT_EQ(t.name(SliceId{0}), "q\"u\\o/t\n\xC3\xA9\xF0\x9F\x98\x80\xEF\xBF\xBD\\x");
  EXPECT_TRUE(t.notes.counts.empty());
}

TEST(Kineto, ControlCharactersAndBadUtf8AreKept) {
  const std::string name = "a\tb\x01\x7F\xFF\xC3(";
  EXPECT_EQ(trace_of(document(op(name))).name(SliceId{0}), name);
}

TEST(Kineto, BareInfAndNanCostOnlyThemselves) {
  const Trace t = trace_of(document(
      joined({op("a", "0", "1", R"(, "args": {"blocks per SM": inf, "x": -nan, "External id": 5})"),
              ",", op("b", "2", "nan"), ",", op("c", "inf")})));
  EXPECT_EQ(slices_of(t), "a 0 1000, b 2000 0");
  EXPECT_EQ(t.slices.external_id[0], 5U);
  EXPECT_EQ(noted(t, "unreadable_duration"), 1U);
  EXPECT_EQ(noted(t, "unreadable_timestamp"), 1U);
}

TEST(Kineto, NumbersMayBeStrings) {
  const Trace t = trace_of(document(
      R"({"ph": "X", "cat": "gpu_memcpy", "name": "m", "pid": "0", "tid": "7",
          "ts": "1711964646123456.789",
          "dur": "2.5", "args": {"stream": "0x0", "correlation": "12", "bytes": "4096"}})"));
  EXPECT_EQ(slices_of(t), "m 1711964646123456789 2500");
  EXPECT_EQ(t.slices.correlation[0], 12U);
  EXPECT_EQ(t.copies.bytes[0], Bytes{4096});
  EXPECT_EQ(t.tracks[0].tid, 0);  // the stream
  EXPECT_EQ(t.tracks[0].tid_text, empty_string);
}

TEST(Kineto, WhatATimeCannotBeIsCountedAndNamed) {
  const Trace t = trace_of(document(joined(
      {op("negative", "5", "-3"), ",", op("long", "9", "9e14"),
       R"(,{"ph": "X", "name": "no dur", "ts": 20}, {"ph": "X", "name": "no ts", "dur": 2},)",
       op("far", "9e15")})));
  EXPECT_EQ(slices_of(t), "no dur 20000 0, negative 5000 0, long 9000 0");
  for (const char* reason :
       {"negative_duration", "duration_out_of_range", "missing_duration", "missing_timestamp"})
    EXPECT_EQ(noted(t, reason), 1U) << reason;
  EXPECT_EQ(t.notes.first_byte.at("negative_duration"), document("").find(']'));
  EXPECT_EQ(t.notes.events, 5U);
}

TEST(Kineto, TextIdsMakeTracksOfTheirOwn) {
  const Trace t = trace_of(document(
      R"({"ph": "X", "cat": "Trace", "name": "w", "pid": "Spans", "tid": "PyTorch Profiler",
          "ts": 1, "dur": 9},
         {"ph": "X", "name": "a", "pid": "Traces", "tid": "PyTorch Profiler", "ts": 1, "dur": 9},
         {"ph": "X", "name": "b", "pid": "12-34", "tid": 0, "ts": 1, "dur": 9},
         {"ph": "X", "name": "c", "pid": 12, "tid": 0, "ts": 1, "dur": 9})"));
  ASSERT_EQ(t.tracks.size(), 4U);
}

TEST(Kineto, AHostProcessWithTheNumberOfADeviceStaysApart) {
  const Trace t = trace_of(document(
      R"({"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 7, "ts": 1, "dur": 1},
         {"ph": "X", "cat": "kernel", "name": "k1", "pid": 1, "tid": 7, "ts": 1, "dur": 1,
          "args": {"device": 1}},
         {"ph": "X", "cat": "kernel", "name": "k0", "pid": 0, "tid": 7, "ts": 1, "dur": 1,
          "args": {"device": 0}},
         {"ph": "X", "cat": "gpu_user_annotation", "name": "s", "pid": 0, "tid": 7,
          "ts": 1, "dur": 3})"));
  ASSERT_EQ(t.tracks.size(), 3U);
  EXPECT_FALSE(t.tracks[0].device);
  EXPECT_EQ(t.tracks[1].device_index, 0);
  EXPECT_EQ(t.tracks[1].count, 2U);
  EXPECT_EQ(t.tracks[2].device_index, 1);
}

TEST(Kineto, NamesOfProcessesAndThreadsMayStandAnywhereAndTheLastCounts) {
  const std::string name =
      R"({"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "old"}},)";
  const Trace t = trace_of(document(joined(
      {name, op("a"), R"(,{"args": {"name": "python"}, "ph": "M", "pid": 1, "name": "process_name"},
          {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "main"}},
          {"ph": "M", "name": "process_labels", "pid": 1, "args": {"labels": "CPU"}})"})));
  EXPECT_EQ(t.strings[t.tracks[0].process_name], "python");
  EXPECT_EQ(t.strings[t.tracks[0].thread_name], "main");
}

TEST(Kineto, DetailsOfOperatorsCopiesSyncsAndMemoryAreRead) {
  const Trace t = trace_of(document(
      joined({op("aten::convolution", "0", "1",
                 R"(, "args": {"Input Dims": [[8, 16], []],
          "Input type": ["float", ""], "Concrete Inputs": ["", "1"],
          "Sequence number": 7, "Fwd thread id": 2})"),
              R"(,{"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": 7,
          "ts": 1, "dur": 1,
          "args": {"stream": 7, "wait_on_stream": 20, "wait_on_cuda_event_record_corr_id": 8}},
         {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1,
          "tid": 2, "ts": 3,
          "args": {"Total Reserved": 9, "Total Allocated": 5, "Device Id": 1,
          "Device Type": 1, "Addr": 18446744073709551615, "Bytes": -4}})"})));
  EXPECT_EQ(t.strings[t.ops.input_dims[0]], "[[8, 16], []]");
  EXPECT_EQ(t.strings[t.ops.input_types[0]], R"(["float", ""])");
  EXPECT_EQ(t.strings[t.ops.concrete_inputs[0]], R"(["", "1"])");
  EXPECT_EQ(t.ops.sequence[0], 7);
  EXPECT_EQ(t.ops.forward_thread[0], 2);
  EXPECT_EQ(t.syncs.wait_on_record_correlation[0], 8);
  EXPECT_EQ(t.memory.bytes[0], Bytes{-4});
  EXPECT_EQ(t.memory.address[0], ~0ULL);
  EXPECT_EQ(t.memory.device[0], 1);
}

// They show which arguments the kernel touches. Other operators need no scalars.
TEST(Kineto, SizesOfFusedKernelsAreRead) {
  const auto args = R"(, "args": {"Input Dims": [[8, 16], []], "Concrete Inputs": ["", "24"]})";
  const Trace t = trace_of(document(
      joined({op("triton_poi_fused_mm_2", "0", "1", args), ",", op("aten::mul", "2", "1", args)})));
  EXPECT_EQ(t.strings[t.ops.concrete_inputs.at(0)], R"(["", "24"])");
  EXPECT_EQ(t.strings[t.ops.concrete_inputs.at(1)], "");
}

TEST(Kineto, CollectiveMetadataOfKernelsAndOperatorsIsRead) {
  const Trace t = trace_of(document(
      R"({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_Generic", "pid": 0, "tid": 20,
          "ts": 7, "dur": 9,
          "args": {"Collective name": "_allgather_base", "In msg nelems": 8,
          "Out msg nelems": 16, "Group size": 2,
          "dtype": "BFloat16", "In split size": "[]",
          "Out split size": "[]", "Process Group Name": "0",
          "Process Group Description": "default_pg",
          "Process Group Ranks": "[0, 1]", "Global rank start": 0,
          "Global rank stride": 1, "Seq": 4}},
         {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 1, "tid": 2,
          "ts": 1, "dur": 9,
          "args": {"Process Group ID": 3, "In msg nelems": 1}})"));
  ASSERT_EQ(t.collectives.size(), 2U);
  const Collective& old = t.collectives[0];
  EXPECT_EQ(t.strings[old.group_name], "3");
  EXPECT_EQ(old.seq, -1);
  const Collective& c = t.collectives[1];
  EXPECT_EQ(t.name(c.slice), "ncclDevKernel_Generic");
  EXPECT_EQ(t.strings[c.name], "_allgather_base");
  EXPECT_EQ(t.strings[c.group_ranks], "[0, 1]");
  EXPECT_EQ(c.out_elements, 16);
  EXPECT_EQ(c.seq, 4);
}

TEST(Kineto, CountersOfRangesAndOfTheirOwnAreRead) {
  const Trace t = trace_of(document(
      R"({"ph": "X", "cat": "cuda_profiler_range", "name": "k", "pid": 0, "tid": 0,
          "ts": 6, "dur": 9, "args": {"a": 0.5, "bad": inf}},
         {"ph": "C", "name": "dram", "pid": 0, "ts": 9, "args": {"read": 3, "list": [1]}})"));
  ASSERT_EQ(t.counters.size(), 2U);
  EXPECT_EQ(t.counters.value[0], 0.5);
  EXPECT_EQ(t.counters.slice[0], SliceId{0});
  EXPECT_EQ(t.strings[t.counters.metric[1]], "read");
  EXPECT_EQ(t.counters.slice[1], no_slice);
}

TEST(Kineto, TheLegacyExporterSaysDeviceWorkByItsProcess) {
  const Trace t = trace_of(
      R"([{"name": "aten::add", "ph": "X", "ts": 1.5, "dur": 2, "tid": 1,
          "pid": "CPU functions", "args": {}},
          {"name": "aten::add", "ph": "s", "ts": 1.5, "tid": 1, "pid": "CPU functions",
          "id": 7, "cat": "cpu_to_cuda", "args": {}},
          {"name": "add_kernel", "ph": "X", "ts": 5, "dur": 3, "tid": 0,
          "pid": "CUDA functions", "args": {}},
          {"name": "Memcpy HtoD", "ph": "X", "ts": 9, "dur": 1, "tid": 0,
          "pid": "CUDA functions", "args": {}}])");
  ASSERT_EQ(t.slices.size(), 3U);
  EXPECT_EQ(t.slices.category[0], Category::cpu_op);
  EXPECT_EQ(t.slices.category[1], Category::kernel);
  EXPECT_EQ(t.slices.category[2], Category::memcpy);
  EXPECT_TRUE(t.tracks[1].device);
}

TEST(Kineto, OddElementsAreCountedAndTheOthersKept) {
  const Trace t = trace_of(document(
      joined({op("a"), R"(, 1, null, "text", [2, {"b": 3}], {}, {"ph": "XX"}, {"ph": "?"}, )",
              op("b", "3"), R"(, {"ph": "b", "name": "async"}, {"ph": "X" 5}, )", op("c", "6")})));
  EXPECT_EQ(slices_of(t), "a 0 1000, b 3000 1000, c 6000 1000");
  EXPECT_GE(noted(t, "not_an_event"), 1U);
  EXPECT_GE(noted(t, "event_without_phase"), 2U);
  EXPECT_EQ(noted(t, "unknown_phase"), 1U);
}

TEST(Kineto, ObjectsInsideArgumentsAreNoEvents) {
  const Trace t = trace_of(document(
      joined({op("a", "0", "1",
                 joined({R"(, "args": {"list": [{"ph": "X", "name": "no", "ts": 1, "dur": 1},
          {"name": "b"}], "deep": )",
                         std::string(500, '[') + std::string(500, ']'), "}"})),
              ",", op("b", "3")})));
  EXPECT_EQ(slices_of(t), "a 0 1000, b 3000 1000");
  EXPECT_EQ(t.notes.events, 2U);
}

TEST(Kineto, ADamagedEventIsSteppedOverAndTheNextRead) {
  const std::string nul(300, '\0');
  for (const std::string& damage :
       {std::string(R"({"ph": "X", "name" 3})"),
        std::string(R"({"ph": "X", "args": {"Input Dims": [[1, 2}})"),
        R"({"ph": "X", "ca)" + nul + R"("dur": 3})", R"({"ph": "X", "ts": 1)" + nul, nul}) {
    const Trace t =
        trace_of(document(joined({op("a"), ",", damage, ",", op("b", "3"), ",", op("c", "6")})));
    EXPECT_NE(slices_of(t).find("a 0 1000"), std::string::npos) << damage;
    EXPECT_NE(slices_of(t).find("c 6000 1000"), std::string::npos) << damage;
  }
}

TEST(Kineto, ASecondArrayOfEventsIsReadToo) {
  for (const unsigned threads : {1U, 2U}) {
    const Trace t = trace_of(joined({"{\"traceEvents\": [", op("a"),
                                     "], \"x\": 1, \"traceEvents\": [", op("b", "3"), "]}"}),
                             {.threads = threads});
    EXPECT_EQ(slices_of(t), "a 0 1000, b 3000 1000");
    EXPECT_FALSE(t.notes.truncated);
  }
}

TEST(Kineto, TextBehindTheDocumentIsNamed) {
  const std::string first = document(op("a"));
  const Trace t = trace_of(joined({first, "\n", document(op("b"))}));
  EXPECT_EQ(slices_of(t), "a 0 1000");
  EXPECT_EQ(t.notes.first_byte.at("text_behind_the_document"), first.size() + 1);
  EXPECT_EQ(noted(trace_of(joined({"[", op("a"), "] x"})), "text_behind_the_document"), 1U);
  EXPECT_TRUE(trace_of(joined({first, std::string(100, '\0')})).notes.counts.empty());
}

TEST(Kineto, AnArchiveOfTracesIsToBeUnpacked) {
  const auto zip = test::read_text(joined({"PK\x03\x04", std::string(30, '\x01')}));
  ASSERT_FALSE(zip);
  EXPECT_NE(zip.error().message().find("unpack it with unzip"), std::string::npos);
}

// torch_npu's trace_view.json: operators have categories, and the NPU's rows do not.
TEST(Kineto, ATraceOfAscendIsRefused) {
  const std::string npu =
      R"({"ph": "M", "name": "process_name", "pid": 544, "tid": 0, "args": {"name": "Ascend )"
      R"(Hardware"}}, {"ph": "X", "name": "MatMulV2", "pid": 544, "tid": 2, "ts": "3.5", )"
      R"("dur": 9, "args": {"Task Type": "AI_CORE"}})";
  const auto read = test::read_text(joined({"[", op("a"), ",", npu, "]"}));
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message().find("a trace of Ascend NPUs"), std::string::npos);
}

TEST(Kineto, ExternalIdsJoinCallsAndKernelsWhereNoRowHasACorrelation) {
  const auto of_kernel = [](std::string_view second_call, std::string_view more) {
    const auto row = [](std::string_view category, std::string_view at, std::string_view id) {
      return joined({R"({"ph": "X", "cat": ")", category, R"(", "name": "n", "pid": 1, "tid": 2, )",
                     R"("ts": )", at, R"(, "dur": 1, "args": {"External id": )", id, "}}"});
    };
    const Trace t = trace_of(
        document(joined({row("cuda_runtime", "1", "5"), ",", row("cuda_runtime", "3", second_call),
                         more, ",", row("kernel", "5", "6"), ",", row("cpu_op", "0", "9")})));
    std::uint32_t found = 0;
    for (std::size_t i = 0; i < t.slices.size(); ++i)
      if (t.slices.category[i] == Category::kernel) found = t.slices.correlation[i];
    return found;
  };
  EXPECT_EQ(of_kernel("6", ""), 6U);
  EXPECT_EQ(of_kernel("5", ""), 0U) << "of an operator, which has two calls";
  EXPECT_EQ(of_kernel("6", R"(, {"ph": "X", "cat": "cuda_runtime", "name": "n", "pid": 1,
                                "tid": 2, "ts": 9, "dur": 1, "args": {"correlation": 3}})"),
            0U);
}

TEST(Kineto, WhatIsNoTraceSaysWhereAndWhatToDo) {
  const auto message = [](std::string_view text) {
    return test::read_text(text).error().message();
  };
  EXPECT_NE(message("").find("the file is empty"), std::string::npos);
  EXPECT_NE(message(" \n").find("the file is empty"), std::string::npos);
  EXPECT_NE(message("  hello").find("byte 2: this is no JSON"), std::string::npos);
  EXPECT_NE(message("{hello}").find("byte 1: this is no JSON"), std::string::npos);
  EXPECT_NE(message("{\"a\": [1, 2]}").find("JSON without traceEvents"), std::string::npos);
  EXPECT_NE(message("{\"traceEvents\": 5}").find("JSON without traceEvents"), std::string::npos);
  EXPECT_NE(message("{\"a\": [1, 2").find("ends before traceEvents"), std::string::npos);
  EXPECT_NE(message("[1, 2, 3]").find("a JSON array without trace events"), std::string::npos);
  EXPECT_NE(message("[\"a").find("byte 1: a JSON array without trace events"), std::string::npos);
  EXPECT_NE(message("[[-1, 1, 37888, 7], [-1, 1, 512, 7]]").find("is a memory timeline"),
            std::string::npos);
  EXPECT_NE(message("[{\"a\": 1}]").find("a JSON array without trace events"), std::string::npos);
  EXPECT_NE(message(document("")).find("no trace events in traceEvents"), std::string::npos);
  for (const std::string cut :
       {"{\"traceEvents\": [", "[", "{\"traceEvents\": [{\"ph\": \"X\", \"na"}) {
    EXPECT_NE(message(cut).find("ends before its first trace event"), std::string::npos) << cut;
    EXPECT_NE(message(cut).find("; it was cut while it was written: copy it again"),
              std::string::npos)
        << cut;
  }
  for (const std::string text : {"", "hello", "{}", "[1]"})
    EXPECT_FALSE(test::read_text(text).error().hint.empty());
}

TEST(Kineto, LongMembersAroundTheEventsAreReadPast) {
  std::string ones = "[1";
  while (ones.size() < 5'000'000) ones += ",1";
  const std::string event =
      R"({"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":1000,"dur":5,"args":{}})";
  const std::string rank = R"("distributedInfo":{"rank":3,"world_size":4})";
  for (const unsigned threads : {1U, 2U}) {
    const Trace before = trace_of(
        joined({R"({"stackFrames":)", ones, "],", rank, R"(,"traceEvents":[)", event, "]}"}),
        {.threads = threads});
    EXPECT_EQ(before.metadata.rank, 3);
    EXPECT_EQ(before.slices.size(), 1U);
    const Trace behind = trace_of(
        joined({R"({"traceEvents":[)", event, R"(],"stackFrames":)", ones, "],", rank, "}"}),
        {.threads = threads});
    EXPECT_EQ(behind.metadata.rank, 3);
    EXPECT_EQ(behind.slices.size(), 1U);
    EXPECT_FALSE(behind.notes.truncated);
  }
  const auto none = test::read_text(joined({R"({"a":)", ones, "]}"}));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().what, "JSON without traceEvents");
  EXPECT_EQ(none.error().byte, ones.size() + 7);
}

}  // namespace
}  // namespace stepscope
