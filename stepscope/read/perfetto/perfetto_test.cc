// SPDX-License-Identifier: Apache-2.0
// Perfetto traces as their writers produce them: the SDK, PyTorch, ring buffers.
#include "stepscope/read/perfetto/perfetto.h"

#include <gtest/gtest.h>

#include "stepscope/read/perfetto/perfetto_test_packets.h"

namespace stepscope {
namespace {

using test::argument;
using test::begin;
using test::bytes;
using test::cleared;
using test::end;
using test::fixed64;
using test::message;
using test::noted;
using test::number;
using test::packet;
using test::perfetto_trace;
using test::process;
using test::real;
using test::row;
using test::slices_of;
using test::thread;

constexpr std::uint64_t epoch = 1'700'000'000'000'000'000;

TEST(Perfetto, SlicesOfThreadsNest) {
  const Trace t = perfetto_trace({process(1, 40, "python"), thread(2, 40, 41, "main", 1),
                                  begin(2, epoch, "outer"), begin(2, epoch + 10, "inner"),
                                  end(2, epoch + 20), end(2, epoch + 30)});
  EXPECT_EQ(slices_of(t), "outer 1700000000000000000 30, inner 1700000000000000010 10");
  EXPECT_EQ(t.metadata.clock, Clock::unix_epoch);
  EXPECT_EQ(t.metadata.format, "perfetto");
  ASSERT_EQ(t.tracks.size(), 1U);
  EXPECT_EQ(t.tracks[0].pid, 40);
  EXPECT_EQ(t.tracks[0].tid, 41);
  EXPECT_EQ(t.strings[t.tracks[0].process_name], "python");
  EXPECT_EQ(t.strings[t.tracks[0].thread_name], "main");
  EXPECT_EQ(t.slices.category[0], Category::cpu_op);
  EXPECT_TRUE(t.notes.counts.empty());
}

TEST(Perfetto, FindingsInAMergedTraceAreLeftOut) {
  const Trace t = perfetto_trace({process(1, 40, "rank 0: host"), thread(2, 40, 41, "main", 1),
                                  thread(3, 40, 42, "stepscope findings", 1), begin(2, epoch, "a"),
                                  begin(3, epoch, "slow", "stepscope_finding"),
                                  begin(3, epoch, "slow", "stepscope_finding"), end(3, epoch + 5),
                                  end(2, epoch + 10), end(3, epoch + 20)});
  EXPECT_EQ(slices_of(t), "a 1700000000000000000 10");
  EXPECT_EQ(t.tracks.size(), 1U);
  EXPECT_TRUE(t.notes.counts.empty());
}

TEST(Perfetto, TextsAreNumberedPerSequenceUntilTheStateIsCleared) {
  const auto named = [](std::uint64_t sequence, std::uint64_t iid, std::uint64_t time,
                        std::string_view more = "") {
    return message(1, {number(8, time), number(10, sequence), number(13, 2), more,
                       message(11, {number(9, 1), number(11, 7), number(10, iid)})});
  };
  const auto names = [](std::initializer_list<std::string_view> texts) {
    std::string data;
    std::uint64_t iid = 1;
    for (const auto text : texts) data += message(2, {number(1, iid++), bytes(2, text)});
    return bytes(12, data);
  };
  const auto flags = [](std::uint64_t sequence, std::uint64_t flag) {
    return message(1, {number(10, sequence), number(13, flag)});
  };
  const Trace t = perfetto_trace({thread(7, 1, 2), named(1, 1, 5),  // before its state
                                  flags(1, 1), flags(2, 1), named(1, 1, 10, names({"a", "b"})),
                                  named(2, 1, 20, names({"c"})), named(1, 2, 30), flags(1, 1),
                                  named(1, 2, 40),  // gone
                                  named(1, 2, 50, names({"d", "e"})), named(1, 1'000'000, 60),
                                  message(1, {number(10, 2), number(42, 1)}), named(2, 1, 70)});
  EXPECT_EQ(slices_of(t), "a 10 50, c 20 40, b 30 30,  40 20, e 50 10,  60 0");
  EXPECT_EQ(noted(t, "packet_without_its_state"), 2U);
  EXPECT_EQ(noted(t, "begin_without_end"), 6U);
}

TEST(Perfetto, DefaultsOfASequenceAreItsTrackAndClock) {
  const std::string defaults = message(
      1,
      {number(10, 3), number(13, 1), message(59, {number(58, 64), message(11, {number(11, 9)})}),
       message(6, {message(1, {number(1, 6), number(2, 1'000'000)}),
                   message(1, {number(1, 1), number(2, epoch + 1'000'000)}),
                   message(1, {number(1, 64), number(2, 500), number(3, 1), number(4, 1'000)})})});
  const auto event = [](std::uint64_t type, std::uint64_t delta) {
    return message(
        1, {number(8, delta), number(10, 3), message(11, {number(9, type), bytes(23, "x")})});
  };
  const Trace t = perfetto_trace(
      {thread(9, 4, 5), defaults, event(1, 7), event(1, 2), event(2, 1), event(2, 90)});
  EXPECT_EQ(slices_of(t), "x 1700000000001007000 93000, x 1700000000001009000 1000");
  EXPECT_EQ(t.tracks[0].tid, 5);
  EXPECT_EQ(t.metadata.clock, Clock::unix_epoch);
}

TEST(Perfetto, ClocksAreJoinedBySnapshots) {
  const auto clock = [](std::uint64_t id, std::uint64_t time) {
    return message(1, {number(1, id), number(2, time)});
  };
  const auto snapshot = [&](std::initializer_list<std::string> clocks) {
    std::string all;
    for (const std::string& c : clocks) all += c;
    return message(1, {bytes(6, all)});
  };
  const auto on = [](std::uint64_t id, std::uint64_t type, std::uint64_t time) {
    return message(1, {number(8, time), number(58, id), number(10, 1),
                       message(11, {number(9, type), number(11, 1), bytes(23, "x")})});
  };
  // Snapshots join 3 (MONOTONIC) to the trace's own 6, and 5 only to 3. The second one moves 3 by
  // ten.
  const Trace t = perfetto_trace({thread(1, 1, 1), snapshot({clock(3, 1'000), clock(6, 5'000)}),
                                  snapshot({clock(5, 70), clock(3, 1'000)}), on(3, 1, 1'100),
                                  on(5, 2, 270), snapshot({clock(3, 2'000), clock(6, 6'010)}),
                                  on(3, 1, 2'001), on(3, 2, 2'002), on(11, 1, 3)});
  EXPECT_EQ(slices_of(t), "x 5100 100, x 6011 1");
  EXPECT_EQ(t.metadata.clock, Clock::relative);
  EXPECT_EQ(noted(t, "timestamp_of_an_unknown_clock"), 1U);
  // Without snapshots, the only clock in the packets is the trace's.
  const Trace lone = perfetto_trace({on(3, 1, 100), on(3, 2, 200), on(5, 1, 300)});
  EXPECT_EQ(slices_of(lone), "x 100 100");
  EXPECT_EQ(noted(lone, "timestamp_of_an_unknown_clock"), 1U);
}

TEST(Perfetto, ArgumentsAreThoseOfAChromeTrace) {
  const std::string list =
      message(4, {bytes(10, "Input Dims"),
                  message(12, {message(12, {number(4, 8)}), message(12, {number(4, 16)})}),
                  message(12, {})});
  const std::string types = message(4, {bytes(10, "Input type"), message(12, {bytes(6, "float")}),
                                        message(12, {bytes(6, "a\"b")})});
  const Trace t = perfetto_trace(
      {thread(1, 1, 2),
       begin(1, 10, "aten::mm", "cpu_op",
             list + types + argument("External id", 7) + argument("Sequence number", 4)),
       end(1, 20),
       begin(1, 30, "ncclDevKernel_AllReduce", "kernel",
             argument("stream", 20) + argument("device", 3) + argument("correlation", 99) +
                 argument("Collective name", "allreduce") + argument("In msg nelems", 1'024) +
                 argument("Group size", 8) + argument("dtype", "BFloat16") +
                 argument("Process Group Name", "a\\b")),
       end(1, 40),
       begin(1, 50, "Memcpy HtoD", "gpu_memcpy", argument("bytes", 4'096) + argument("stream", 7)),
       end(1, 60)});
  ASSERT_EQ(t.ops.size(), 1U);
  EXPECT_EQ(t.strings[t.ops.input_dims[0]], "[[8, 16], []]");
  EXPECT_EQ(t.strings[t.ops.input_types[0]], R"(["float", "a\"b"])");
  EXPECT_EQ(t.ops.sequence[0], 4);
  ASSERT_EQ(t.collectives.size(), 1U);
  const Collective& c = t.collectives[0];
  EXPECT_EQ(t.strings[c.name], "allreduce");
  EXPECT_EQ(t.strings[c.group_name], "a\\b");
  EXPECT_EQ(c.in_elements, 1'024);
  EXPECT_EQ(c.group_size, 8);
  const SliceId kernel = c.slice;
  EXPECT_EQ(t.slices.correlation[index(kernel)], 99U);
  const Track& stream = t.track(t.slices.track[index(kernel)]);
  EXPECT_TRUE(stream.device);
  EXPECT_EQ(stream.tid, 20);
  EXPECT_EQ(stream.device_index, 3);
  EXPECT_EQ(t.copies.bytes[0].value, 4'096);
}

TEST(Perfetto, OfPyTorchHasNoCategoriesAndAllBeginsBeforeTheEnds) {
  const std::string cpu = argument("Record function id", 0) + argument("External id", 1);
  const auto call = [](std::uint64_t correlation) {
    return argument("cbid", 211) + argument("correlation", correlation);
  };
  const Trace t = perfetto_trace(
      {process(1, 40, "python"), thread(2, 40, 41, "thread 41", 1), process(3, 0, "GPU 0"),
       thread(4, 0, 7, "stream 7", 3), cleared(), begin(2, epoch, "aten::mm", "", cpu),
       begin(2, epoch + 5, "aten::add", "", cpu),
       begin(2, epoch + 40, "ProfilerStep#3", "", argument("Ev Idx", 1)), end(2, epoch + 40),
       end(2, epoch + 8), end(2, epoch + 90), begin(2, epoch + 10, "cudaLaunchKernel", "", call(5)),
       begin(2, epoch + 20, "cuLaunchKernelEx", "", call(6)), end(2, epoch + 20),
       end(2, epoch + 25),
       begin(4, epoch + 30, "Stream Wait Event", "",
             argument("cuda_sync_kind", "Stream Wait Event") + argument("stream", 7) +
                 argument("device", 0) + argument("wait_on_stream", 9)),
       end(4, epoch + 31), begin(2, epoch + 60, "run.py(3): f", "", argument("Python id", 1)),
       end(2, epoch + 61)});
  const auto of = [&](std::string_view name) {
    for (std::uint32_t i = 0; i < t.slices.size(); ++i)
      if (t.name(SliceId{i}) == name)
        return std::string(category_names[static_cast<std::size_t>(t.slices.category[i])]) + " " +
               std::to_string(t.slices.dur[i].count());
    return std::string("absent");
  };
  EXPECT_EQ(of("aten::mm"), "cpu_op 40");
  EXPECT_EQ(of("aten::add"), "cpu_op 3");
  EXPECT_EQ(of("ProfilerStep#3"), "user_annotation 50");
  EXPECT_EQ(of("cudaLaunchKernel"), "runtime 10");  // the next slice begins where it ends
  EXPECT_EQ(of("cuLaunchKernelEx"), "driver 5");
  EXPECT_EQ(of("Stream Wait Event"), "sync 1");
  EXPECT_EQ(of("run.py(3): f"), "python_function 1");
  EXPECT_EQ(t.syncs.wait_on_stream[0], 9);
  EXPECT_TRUE(t.notes.counts.empty());
}

TEST(Perfetto, GpuRenderStagesAreWorkOfStreams) {
  const auto spec = [](std::uint64_t iid, std::string_view name) {
    return message(24, {number(1, iid), bytes(2, name)});
  };
  const std::string texts =
      message(1, {number(10, 1), number(13, 1),
                  message(12, {spec(1, "Kernel"), spec(2, "Memcpy"), spec(4, "Annotation"),
                               spec(100, "stream 0007"), spec(101, "stream 0020"),
                               message(2, {number(1, 1), bytes(2, "gemm")}),
                               message(2, {number(1, 2), bytes(2, "nccl:all_reduce")})})});
  const auto extra = [](std::string_view name, std::string_view value) {
    return message(6, {bytes(1, name), bytes(2, value)});
  };
  const auto stage = [](std::uint64_t time, std::uint64_t dur, std::uint64_t queue,
                        std::uint64_t stage_iid, std::uint64_t name, std::string_view more) {
    return packet(message(53, {number(2, dur), number(11, 2), number(13, queue),
                               number(14, stage_iid), number(20, name), more}),
                  time);
  };
  const Trace t = perfetto_trace(
      {texts,
       stage(epoch, 10, 100, 1, 1,
             extra("correlation", "5") + extra("stream id", "7") + extra("device id", "2")),
       stage(epoch + 4, 10, 100, 1, 1,
             extra("correlation", "6") +
                 extra("metadata", R"({"Collective name": "allreduce", "Process Group Name": "0",)"
                                   R"( "In msg nelems": 64})")),
       stage(epoch, 5, 101, 2, 0, extra("bytes", "512")), stage(epoch, 30, 101, 4, 2, "")});
  EXPECT_EQ(slices_of(t),
            "gemm 1700000000000000000 10, gemm 1700000000000000004 10, nccl:all_reduce "
            "1700000000000000000 30, Memcpy 1700000000000000000 5");
  EXPECT_EQ(t.slices.category[2], Category::gpu_annotation);
  EXPECT_EQ(t.slices.category[3], Category::memcpy);
  EXPECT_EQ(t.copies.bytes[0].value, 512);
  EXPECT_EQ(t.slices.correlation[0], 5U);
  ASSERT_EQ(t.tracks.size(), 2U);
  EXPECT_EQ(t.tracks[0].device_index, 2);
  EXPECT_EQ(t.tracks[0].tid, 7);
  EXPECT_EQ(t.tracks[1].tid, 20);
  EXPECT_EQ(t.strings[t.tracks[1].thread_name], "stream 0020");
  ASSERT_EQ(t.collectives.size(), 1U);
  EXPECT_EQ(t.collectives[0].in_elements, 64);
}

TEST(Perfetto, CountersOfTracksAndOfGpus) {
  const auto counter = [](std::uint64_t track, std::uint64_t time, std::string_view value) {
    return packet(message(11, {number(9, 4), number(11, track), value}), time);
  };
  const std::string names = message(
      1,
      {number(10, 1),
       message(12, {message(47, {number(1, 3),
                                 message(2, {message(1, {number(1, 0), bytes(2, "power")})})})})});
  const Trace t = perfetto_trace(
      {process(1, 4, "python"), row(2, 1, "bytes", message(8, {number(4, 1'024)})),
       row(3, 1, "sum", message(8, {number(5, 1)})), counter(2, 10, number(30, 3)),
       counter(3, 20, number(30, 5)), counter(3, 30, number(30, static_cast<std::uint64_t>(-2))),
       counter(2, 40, real(44, 0.5)), names,
       packet(message(52, {number(4, 3), message(2, {number(1, 0), real(3, 350.5)})}), 50),
       packet(message(52, {number(4, 9), message(2, {number(1, 0), number(2, 1)})}), 60)});
  std::string readings;
  for (std::size_t i = 0; i < t.counters.size(); ++i)
    readings += test::joined(
        {t.strings[t.counters.metric[i]], " ", std::to_string(t.counters.value[i]), ", "});
  EXPECT_EQ(readings,
            "bytes 3072.000000, sum 5.000000, sum 3.000000, bytes 512.000000, power 350.500000, ");
  EXPECT_EQ(noted(t, "counter_without_a_name"), 1U);
}

TEST(Perfetto, RowsInsideAThreadOrAProcess) {
  const Trace t = perfetto_trace(
      {process(1, 4, "rank 3: GPU 0"), thread(2, 4, 9, "main", 1), row(3, 2, "overlapping"),
       row(4, 1, "stream 7"), row(5, 1, "stream 7 (sync)", bytes(14, "tid 1000007")),
       row(6, 1, "autograd"), begin(2, 10, "a"), begin(3, 12, "b"), end(2, 20), end(3, 30),
       begin(4, 40, "gemm", "gpu_user_annotation", argument("device", 0)), end(4, 41),
       begin(5, 42, "gemm", "gpu_user_annotation", argument("device", 0)), end(5, 43),
       begin(6, 50, "c"), end(6, 60)});
  std::string tracks;
  for (const Track& track : t.tracks)
    tracks += test::joined({std::to_string(track.pid), " ", std::to_string(track.tid),
                            t.strings[track.tid_text], " ", std::to_string(track.count), ", "});
  EXPECT_EQ(tracks, "4 9 2, 4 0autograd 1, 4 7 1, 4 1000007 1, ");
  EXPECT_EQ(t.metadata.rank, 3);
}

TEST(Perfetto, OfRocprofHasEachEndBehindItsBegin) {
  const std::string args = argument("corr_id", 3) + argument("agent", 1);
  const Trace t = perfetto_trace(
      {process(1, 40, "train"), thread(2, 40, 41, "THREAD 1 (S)", 1), row(3, 1, "STREAM [0]"),
       begin(2, 5, "hipLaunchKernel", "hip_api", argument("corr_id", 3)), end(2, 9),
       begin(3, 20, "later", "kernel_dispatch", args), end(3, 30),
       begin(3, 10, "first", "kernel_dispatch", args), end(3, 20),
       begin(3, 30, "MEMORY_COPY_HOST_TO_DEVICE", "memory_copy",
             argument("copy_bytes", 64) + argument("dst_agent", 1)),
       end(3, 31)});
  EXPECT_EQ(slices_of(t),
            "hipLaunchKernel 5 4, first 10 10, later 20 10, MEMORY_COPY_HOST_TO_DEVICE 30 1");
  EXPECT_EQ(t.slices.category[0], Category::runtime);
  EXPECT_EQ(t.slices.correlation[1], 3U);
  EXPECT_EQ(t.tracks[1].device_index, 1);
  EXPECT_EQ(t.copies.bytes[0].value, 64);
}

TEST(Perfetto, FlowsJoinWhereCorrelationsAreMissing) {
  const Trace t = perfetto_trace(
      {thread(1, 1, 1), begin(1, 10, "cudaLaunchKernel", "cuda_runtime", fixed64(47, 77)),
       end(1, 12), begin(1, 15, "gemm", "kernel", fixed64(48, 77) + argument("stream", 7)),
       end(1, 20), begin(1, 30, "aten::mm", "cpu_op", fixed64(47, 78)), end(1, 31),
       begin(1, 40, "cudaLaunchKernel", "cuda_runtime",
             fixed64(47, 5) + argument("correlation", 9)),
       end(1, 42)});
  std::vector<std::uint32_t> correlations = t.slices.correlation;
  EXPECT_EQ(correlations, (std::vector<std::uint32_t>{77, 0, 9, 77}));
}

TEST(Perfetto, SeveralRanksOfOurOwnBecomeSeveralTraces) {
  const auto said = [](int rank) {
    const std::string info = R"({"distributedInfo": {"rank": )" + std::to_string(rank) +
                             R"(, "world_size": 8}, "host_name": "n)" + std::to_string(rank) +
                             "\"}";
    return message(4, {bytes(10, "stepscopeRanks"), bytes(6, info)});
  };
  const auto instant = [](std::uint64_t track, std::string_view more) {
    return packet(message(11, {number(9, 3), number(11, track), more}), 5);
  };
  const auto traces = test::perfetto_traces(test::joined(
      {process(1, 1, "rank 2: host"), process(2, 2, "rank 5: host"), instant(1, said(2)),
       instant(2, said(5)), begin(1, 10, "a"), end(1, 11), begin(2, 12, "b"), end(2, 13)}));
  ASSERT_EQ(traces.size(), 2U);
  EXPECT_EQ(traces[0].metadata.rank, 2);
  EXPECT_EQ(traces[1].metadata.rank, 5);
  EXPECT_EQ(traces[1].metadata.world_size, 8);
  EXPECT_EQ(traces[1].metadata.texts.at("host_name"), "n5");
  EXPECT_EQ(slices_of(traces[1]), "b 12 1");
}

}  // namespace
}  // namespace stepscope
