// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/rows/split_ranks.h"

#include <gtest/gtest.h>

#include "stepscope/read/kineto/kineto_test_source.h"

namespace stepscope {
namespace {

using test::document;
using test::joined;
using test::noted;
using test::slices_of;
using test::traces_of;

std::string process(std::string_view pid, std::string_view name) {
  return joined({R"({"ph": "M", "name": "process_name", "pid": )", pid, R"(, "args": {"name": ")",
                 name, R"("}})"});
}
std::string row(std::string_view cat, std::string_view name, std::string_view pid,
                std::string_view ts, std::string_view args = "{}") {
  return joined({R"({"ph": "X", "cat": ")", cat, R"(", "name": ")", name, R"(", "pid": )", pid,
                 R"(, "tid": 1, "ts": )", ts, R"(, "dur": 1, "args": )", args, "}"});
}

TEST(SplitRanks, ProcessesThatNameRanksBecomeTracesInRankOrder) {
  const auto traces = traces_of(
      document(joined({process("70", "Rank 1 training loop process"), ",",
                       row("cpu_op", "b", "70", "1"), ",", process("80", "rank 0: python"), ",",
                       row("cpu_op", "a", "80", "2"), ",", row("cpu_op", "c", "70", "3")})));
  ASSERT_EQ(traces.size(), 2U);
  EXPECT_EQ(traces[0].metadata.rank, 0);
  EXPECT_EQ(slices_of(traces[0]), "a 2000 1000");
  EXPECT_EQ(traces[1].metadata.rank, 1);
  EXPECT_EQ(slices_of(traces[1]), "b 1000 1000, c 3000 1000");
  EXPECT_EQ(traces[1].strings[traces[1].tracks[0].process_name], "Rank 1 training loop process");
}

TEST(SplitRanks, EveryTableFollowsItsRank) {
  std::string events;
  for (const std::string_view pid : {"70", "80"})
    for (const std::string& event :
         {process(pid, joined({"[rank ", pid.substr(0, 1), "] python"})),
          row("cpu_op", "op", pid, "1", R"({"Input Dims": [[8]], "Sequence number": 5})"),
          row("gpu_memcpy", "copy", pid, "2", R"({"bytes": 64})"),
          row("cuda_sync", "wait", pid, "3", R"({"stream": 7, "wait_on_stream": 9})"),
          row("kernel", "nccl", pid, "4", R"({"Collective name": "allreduce", "Seq": 3})"),
          row("cuda_profiler_range", "range", pid, "5", R"({"metric": 0.5})"),
          joined({R"({"ph": "i", "name": "[memory]", "pid": )", pid,
                  R"(, "tid": 1, "ts": 1, "args": {"Addr": 1, "Bytes": 512}})"})})
      events += joined({events.empty() ? "" : ",", event});
  for (const Trace& t : traces_of(document(events))) {
    EXPECT_EQ(t.slices.size(), 5U);
    EXPECT_EQ(t.strings[t.ops.input_dims.at(0)], "[[8]]");
    EXPECT_EQ(t.copies.bytes.at(0), Bytes{64});
    EXPECT_EQ(t.syncs.wait_on_stream.at(0), 9);
    EXPECT_EQ(t.name(t.collectives.at(0).slice), "nccl");
    EXPECT_EQ(t.name(t.counters.slice.at(0)), "range");
    EXPECT_EQ(t.memory.bytes.at(0), Bytes{512});
    EXPECT_EQ(t.notes.events, 6U);
  }
}

TEST(SplitRanks, RowsOfNoRankAreCounted) {
  const auto traces = traces_of(document(joined(
      {process("1", "rank 4"), ",", process("2", "rank 5"), ",", row("cpu_op", "a", "1", "1"), ",",
       row("cpu_op", "b", "2", "1"), ",", row("cpu_op", "nobody", "3", "1"), ",",
       R"({"ph": "C", "name": "c", "pid": 3, "ts": 1, "args": {"v": 1}})"})));
  ASSERT_EQ(traces.size(), 2U);
  EXPECT_EQ(noted(traces[0], "rows_of_no_rank"), 2U);
}

TEST(SplitRanks, OneRankNamedByItsProcessStaysWhole) {
  const auto traces =
      traces_of(document(joined({process("1", "rank 3"), ",", row("cpu_op", "a", "1", "1"), ",",
                                 row("cpu_op", "b", "2", "1")})));
  ASSERT_EQ(traces.size(), 1U);
  EXPECT_EQ(traces[0].metadata.rank, 3);
  EXPECT_EQ(traces[0].slices.size(), 2U);
}

TEST(SplitRanks, NamesThatOnlyContainTheWordAreNone) {
  for (const std::string_view name : {"crank 3", "frank 1", "rank", "rank x", "low rank update"}) {
    const auto traces = traces_of(
        document(joined({process("1", name), ",", process("2", name), ",",
                         row("cpu_op", "a", "1", "1"), ",", row("cpu_op", "b", "2", "1")})));
    EXPECT_EQ(traces.size(), 1U) << name;
    EXPECT_FALSE(traces[0].metadata.rank.has_value()) << name;
  }
}

TEST(SplitRanks, OurOwnMemberTellsWhatEachProcessWas) {
  const auto traces = traces_of(joined(
      {R"({"traceEvents": [)", process("1", "rank 0"), ",", process("2", "rank 1"), ",",
       row("cpu_op", "a", "1", "1"), ",", row("cpu_op", "b", "2", "1"),
       R"(], "stepscopeRanks": [{"distributedInfo": {"rank": 0, "world_size": 4, "backend": "gloo"},
           "deviceProperties": [{"id": 0, "name": "A"}]},
          {"distributedInfo": {"rank": 1, "world_size": 4},
           "deviceProperties": [{"id": 0, "name": "B"}]}]})"}));
  ASSERT_EQ(traces.size(), 2U);
  EXPECT_EQ(traces[0].metadata.devices.at(0).name, "A");
  EXPECT_EQ(traces[0].metadata.backend, "gloo");
  EXPECT_EQ(traces[1].metadata.devices.at(0).name, "B");
  EXPECT_EQ(traces[1].metadata.world_size, 4);
  EXPECT_FALSE(traces[1].metadata.texts.contains("stepscopeRanks"));
}

TEST(SplitRanks, TagsOfProcessIdsTellRanksApart) {
  const auto of = [](std::string_view first, std::string_view second) {
    return traces_of(document(
        joined({row("kernel", "b", joined({R"(")", second, R"( 0")"}), "1", R"({"stream": 7})"),
                ",", row("cpu_op", "a", joined({R"(")", first, R"( 100")"}), "2"), ",",
                row("cpu_op", "c", joined({R"(")", second, R"( 101")"}), "3")})));
  };
  const auto traces = of("[TP00]", "[TP01]");
  ASSERT_EQ(traces.size(), 2U);
  EXPECT_EQ(traces[0].metadata.rank, 0);
  EXPECT_EQ(slices_of(traces[0]), "a 2000 1000");
  EXPECT_EQ(traces[1].metadata.rank, 1);
  EXPECT_EQ(traces[1].slices.size(), 2U);
  // Tags of several numbers are numbered in their order.
  const auto mesh = of("[TP01-PP00]", "[TP00-PP01]");
  ASSERT_EQ(mesh.size(), 2U);
  EXPECT_EQ(slices_of(mesh[1]), "a 2000 1000");
  EXPECT_EQ(of("[TP03]", "[TP03]").size(), 1U);
}

}  // namespace
}  // namespace stepscope
