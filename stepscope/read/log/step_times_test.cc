// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/step_times.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "stepscope/base/scratch_test_folder.h"

namespace stepscope {
namespace {

using Doubles = std::vector<double>;
using Texts = std::vector<std::string>;

Doubles ns_of(std::string_view text, TimeUnit unit = TimeUnit::ms) {
  const auto times = parse_step_times(text, "list", unit);
  if (times) return times->wall_ns;
  ADD_FAILURE() << times.error().message();
  return {};
}

std::string error_of(std::string_view text) {
  const auto times = parse_step_times(text, "list");
  return times ? "none" : times.error().message();
}

TEST(StepTimes, OneNumberALineIsInMilliseconds) {
  const auto times = parse_step_times("# run 3\n412.5\n\n 413\r\n+4.1e2\n", "list");
  ASSERT_TRUE(times);
  EXPECT_EQ(times->wall_ns, (Doubles{412.5e6, 413e6, 410e6}));
  EXPECT_TRUE(times->unit_assumed);
  EXPECT_EQ(times->source, "numbers");
  EXPECT_TRUE(times->causes.empty());
  EXPECT_EQ(ns_of("0.4\n0.5\n", TimeUnit::s), (Doubles{0.4e9, 0.5e9}));
}

TEST(StepTimes, ATimeThatGrowsFromRowToRowIsAClock) {
  const auto times = parse_step_times("step,elapsed\n10,5\n20,10\n30,16\n40,21\n", "list");
  ASSERT_TRUE(times) << times.error().message();
  EXPECT_EQ(times->wall_ns, (Doubles{0.5e9, 0.6e9, 0.5e9})) << "in seconds, ten steps a row";
  EXPECT_EQ(times->source, "differences of column elapsed");
  EXPECT_EQ(ns_of("time_ms\n1700000000000\n1700000000250\n1700000000500\n"),
            (Doubles{250e6, 250e6}));
  // The clock of a second run, and steps that take longer each.
  EXPECT_EQ(ns_of("wall_s\n1\n2\n3\n4\n5\n6\n1\n2\n"), (Doubles{1e9, 1e9, 1e9, 1e9, 1e9, 1e9}));
  EXPECT_EQ(ns_of("wall_ms\n100\n101\n102\n103\n"), (Doubles{100e6, 101e6, 102e6, 103e6}));
  EXPECT_EQ(ns_of("step_time_ms\n1\n2\n3\n"), (Doubles{1e6, 2e6, 3e6}));
}

TEST(StepTimes, RowsOfEpochsAreNoSteps) {
  EXPECT_TRUE(
      error_of("epoch,time,loss\n1,15,2\n2,28,2\n3,41,1\n4,54,1\n")
          .find("has a time of each epoch (median 13 s, if in seconds; column time, which is "
                "the time since the begin), and none of a step") != std::string::npos);
  EXPECT_TRUE(error_of("epoch,time_s\n1,15\n2,14\n3,15\n").find("of each epoch (median 15 s") !=
              std::string::npos);
  EXPECT_EQ(ns_of("epoch,step,time_s\n1,1,15\n1,2,14\n2,3,15\n"), (Doubles{15e9, 14e9, 15e9}));
}

TEST(StepTimes, TheHeaderNamesColumnAndUnit) {
  EXPECT_EQ(ns_of("step,loss,step_time_s\n0,5.1,0.5\n1,4.9,0.25\n"), (Doubles{0.5e9, 0.25e9}));
  EXPECT_EQ(ns_of("index;Wall_ns\n0;7\n"), Doubles{7});
  EXPECT_EQ(ns_of("\"iteration_time_us\"\t\"x\"\n3\t4\n"), Doubles{3000});
  const auto times = parse_step_times("step_time_ns\n5\n", "list", TimeUnit::s);
  ASSERT_TRUE(times);
  EXPECT_FALSE(times->unit_assumed);
  EXPECT_EQ(times->source, "column step_time_ns");
  EXPECT_TRUE(parse_step_times("a,duration\n1,5\n", "list")->unit_assumed);
}

TEST(StepTimes, ATableOfRanksKeepsTheTimesOfEach) {
  const auto times = parse_step_times(
      "step,rank,step_time_ns\n7,0,10\n7,1,12\n8,0,11\n8,1,0\n8.5,1,4\n9,-1,5\n", "list");
  ASSERT_TRUE(times);
  EXPECT_EQ(times->wall_ns, (Doubles{12, 11, 4, 5}));
  EXPECT_EQ(times->iterations, (std::vector<std::int64_t>{7, 8, -1, 9}));
  ASSERT_EQ(times->ranks.size(), 3U);
  EXPECT_EQ(times->ranks[1].rank, 1);
  EXPECT_EQ(times->ranks[1].iteration, 7);
  EXPECT_EQ(times->ranks[1].wall_ns, 12);
  EXPECT_TRUE(parse_step_times("step_time_ns\n5\n", "list")->iterations.empty());
}

TEST(StepTimes, TheJsonOfTrainNumbersItsStepsAndRanks) {
  const auto times = parse_step_times(
      R"({"schema":"stepscope.train/1","steps":[{"index":4,"wall_ns":30},{"wall_ns":31}],)"
      R"("rank_steps":[{"rank":0,"index":4,"wall_ns":29},{"rank":1,"index":4,"wall_ns":30},)"
      R"({"rank":1,"index":5},{"index":5,"wall_ns":3}]})",
      "train.json");
  ASSERT_TRUE(times);
  EXPECT_EQ(times->iterations, (std::vector<std::int64_t>{4, -1}));
  ASSERT_EQ(times->ranks.size(), 2U);
  EXPECT_EQ(times->ranks[1].wall_ns, 30);
}

TEST(StepTimes, TheBestNameIsTaken) {
  EXPECT_EQ(ns_of("time_s,step_time_ms,duration_s\n9,5,8\n"), Doubles{5e6});
}

TEST(StepTimes, ACauseStaysWithItsStep) {
  const auto times = parse_step_times(
      "step_time_ms,cause\n5,\n90,checkpoint\nnan,eval\n6,\n\"7\",\"gc\"\n", "list");
  ASSERT_TRUE(times);
  EXPECT_EQ(times->wall_ns, (Doubles{5e6, 90e6, 6e6, 7e6}));
  EXPECT_EQ(times->causes, (Texts{"", "checkpoint", "", "gc"}));
  EXPECT_EQ(times->left_out, 1U);
}

TEST(StepTimes, OfRanksTheSlowestCounts) {
  EXPECT_EQ(ns_of("rank,index,wall_ns\n0,2,50\n0,3,60\n1,3,55\n1,2,70\n"), (Doubles{70, 60}));
}

TEST(StepTimes, RowsThatAreNoStepAreCounted) {
  const auto times = parse_step_times("step_time_ms\n1\n-2\n0\ninf\nnan\nx\n1e300\n3\n", "list");
  ASSERT_TRUE(times);
  EXPECT_EQ(times->wall_ns, (Doubles{1e6, 3e6}));
  EXPECT_EQ(times->left_out, 6U);
  EXPECT_EQ(parse_step_times("5\nhello\n6\n", "list")->left_out, 1U);
}

TEST(StepTimes, LogLinesNameThem) {
  EXPECT_EQ(ns_of("hello\nstep 3: step_time_ms=12.5, loss 3\nstep_time_s : 2\n"),
            (Doubles{12.5e6, 2e9}));
  EXPECT_EQ(ns_of("{\"step\": 1, \"step_time_ms\": 7.5}\n{\"step\": 2, \"step_time_ms\": 8}\n"),
            (Doubles{7.5e6, 8e6}));
  EXPECT_EQ(ns_of(" iteration 10/100 | elapsed time per iteration (ms): 606.0 | learning rate\n"),
            Doubles{606e6});
  EXPECT_EQ(ns_of("step     0  loss 5.4988  norm 13.334  lr 3.00e-04    412.345 ms       22 "
                  "tokens/s    0.1 % MFU\n"),
            Doubles{412.345e6});
  EXPECT_EQ(parse_step_times("iter_time=3\n", "list", TimeUnit::s)->wall_ns, Doubles{3e9});
  // A longer name with the same end is a different quantity.
  EXPECT_NE(error_of("last_step_time_ms=4\n").find("names no step time"), std::string::npos);
}

TEST(StepTimes, OfTrainComeFromItsJson) {
  const auto times = parse_step_times(
      R"({"schema":"stepscope.train/1","steps":[{"index":0,"wall_ns":1000,"validation_loss":null,
          "skipped":false},{"wall_ns":2000,"validation_loss":3.5,"skipped":false},
          {"wall_ns":1500,"validation_loss":null,"skipped":true}],"rank_steps":[{"wall_ns":9}]})",
      "train.json");
  ASSERT_TRUE(times) << times.error().message();
  EXPECT_EQ(times->wall_ns, (Doubles{1000, 2000, 1500}));
  EXPECT_EQ(times->causes, (Texts{"", "eval", "skipped"}));
}

TEST(StepTimes, WhatIsNoListIsRefused) {
  EXPECT_NE(error_of("").find("is empty"), std::string::npos);
  EXPECT_NE(error_of("# nothing\n\n").find("is empty"), std::string::npos);
  EXPECT_NE(error_of("hello world\n").find("names no step time"), std::string::npos);
  EXPECT_NE(error_of("1,2,3\n4,5,6\n").find("line 1: a table without names"), std::string::npos);
  EXPECT_NE(error_of("step_time_ms\n0\n").find("no positive step time"), std::string::npos);
  EXPECT_NE(error_of(R"({"schema":"stepscope.train/1","steps":7})").find("has no steps"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"schema":"stepscope.train/1",)").find("list: "), std::string::npos);
}

TEST(StepTimes, AFileIsToldByItsFirstBytes) {
  const test::Folder folder;
  const std::string path = folder.file("file");
  const auto kind = [&](const std::string& text) {
    std::ofstream(path) << text;
    return *step_file_kind(path);
  };
  EXPECT_EQ(kind("\n {\"traceEvents\": []}"), StepFileKind::trace);
  EXPECT_EQ(kind("[{\"ph\": \"X\"}]"), StepFileKind::trace);
  EXPECT_EQ(kind("[{\"name\": \"step\", \"args\": {\"forward\": 1}}]"), StepFileKind::trace);
  EXPECT_EQ(kind("{\"forward\": [1, 2], \"backward\": [3"), StepFileKind::list);
  EXPECT_EQ(kind("{\"forward\": [1, 2, 3"), StepFileKind::list);
  EXPECT_EQ(kind("{\"forward_ms\": 1, \"comm_ms\": 2, \"step_ms\": 3}\n"), StepFileKind::list);
  EXPECT_EQ(kind("{\"forward_ms\": 1, \"comm_ms\": 2, \"step_time_ms\": 3}\n{\"forward_ms\": 1"),
            StepFileKind::log);
  EXPECT_EQ(kind("{\"forward\": 1, \"x\": {}}"), StepFileKind::trace);
  EXPECT_EQ(kind("[{\"step\": 1, \"step_time_ms\": 7.5}]"), StepFileKind::list);
  EXPECT_EQ(kind("{\"schema\":\"stepscope.train/1\"}"), StepFileKind::train_json);
  EXPECT_EQ(kind("{\"step\": 1, \"step_time_ms\": 7.5}\n"), StepFileKind::log);
  EXPECT_EQ(kind("[rank0]: {'loss': 1.0}\n"), StepFileKind::log);
  EXPECT_EQ(kind("[2026-01-01 12:00:00,123] [INFO] {\"a\": 1}\n"), StepFileKind::log);
  EXPECT_EQ(kind("[    INFO] - loss: 2.0, global_step: 20\n"), StepFileKind::log);
  EXPECT_EQ(kind("[ Mon Jan  5 10:00:00 2026 ] Batch(0/9) done\n"), StepFileKind::log);
  EXPECT_EQ(kind("[\n  {\"ph\": \"X\"}]"), StepFileKind::trace);
  EXPECT_EQ(kind("{\"mode\": \"train\", \"iter\": 50}\n{\"mode\": \"train\", \"iter\": 100}\n"),
            StepFileKind::log);
  EXPECT_EQ(kind("{\"ph\": \"X\"}\n{\"ph\": \"X\"}\n"), StepFileKind::trace);
  EXPECT_EQ(kind("{\"data\":[\"a\"]}\n{\"Type\":48,\"NvtxEvent\":{}}\n"), StepFileKind::trace);
  EXPECT_EQ(kind("{\n  \"best_metric\": null,\n  \"log_history\": []}"), StepFileKind::log);
  EXPECT_EQ(kind("# steps\nstep_time_ms\n4\n"), StepFileKind::list);
  EXPECT_EQ(kind(""), StepFileKind::list);
  EXPECT_EQ(kind("1\n2\n"), StepFileKind::list);
  std::ofstream(path) << "\xEF\xBB\xBFstep_time_ms\n4\n";
  EXPECT_EQ(read_step_times(path)->wall_ns, Doubles{4e6});
  EXPECT_FALSE(read_step_times(folder.file("missing")));
}

TEST(StepTimes, PartsOfAStepThatFollowEachOtherAreAddedUp) {
  const auto times = parse_step_times(
      "rank,step,optype,duration_ms\n0,1,forward,30\n0,1,backward,60\n1,1,forward,31\n"
      "1,1,backward,61\n0,2,forward,29\n",
      "list");
  ASSERT_TRUE(times) << times.error().message();
  EXPECT_EQ(times->wall_ns, (Doubles{92e6, 29e6}));
  ASSERT_EQ(times->ranks.size(), 3U);
  EXPECT_EQ(times->ranks[0].wall_ns, 90e6);
  EXPECT_EQ(times->ranks[1].wall_ns, 92e6);
}

TEST(StepTimes, RowsThatMayOverlapAreNoSteps) {
  const std::string remedy = "one row for each rank and step";
  for (const char* text : {"rank,step,time_ms\n0,1,30\n0,1,60\n",
                           "rank,step,op,time_ms\n0,1,forward,30\n0,1,all_reduce,60\n",
                           "rank,step,op,time_ms\n0,1,forward,30\n0,1,forward,60\n",
                           "rank,op,time_ms\n0,forward,30\n0,backward,60\n",
                           "rank,step,phase,time_ms\n0,1,forward,30\n0,1,forward,60\n",
                           "step,op,time_ms\n1,forward-send,30\n1,backward,60\n"})
    EXPECT_NE(error_of(text).find(remedy), std::string::npos) << text << error_of(text);
  EXPECT_EQ(ns_of("phase,time_ms\ntrain,30\neval,60\n"), (Doubles{30e6, 60e6}));
}

TEST(StepTimes, WithoutAColumnOfStepsTheRowsOfARankAreItsSteps) {
  const auto one = parse_step_times("rank,time_s\n0,0.9\n1,0.9\n2,1.2\n", "list");
  ASSERT_TRUE(one) << one.error().message();
  EXPECT_EQ(one->wall_ns, Doubles{1.2e9});
  ASSERT_EQ(one->ranks.size(), 3U);
  EXPECT_EQ(one->ranks[2].rank, 2);
  EXPECT_EQ(one->ranks[2].iteration, 0);
  const auto two = parse_step_times(
      "rank,step_time_ms\nrank1,5\nrank0,4\nrank1,nan\nrank0,6\nrank1,7\nx,3\n", "list");
  ASSERT_TRUE(two) << two.error().message();
  EXPECT_EQ(two->wall_ns, (Doubles{5e6, 6e6, 7e6}));
  EXPECT_EQ(two->ranks.back().iteration, 2);
  EXPECT_EQ(two->left_out, 2U);
}

Texts part_names(const StepTimes& times) {
  Texts names;
  for (const StepPartName& part : times.parts.names) names.push_back(part.name);
  return names;
}

TEST(StepTimes, RowsOfPhasesAreSteps) {
  const auto times = parse_step_times(
      "rank,step,phase,time_ms\n0,4,forward,40\n0,4,all-reduce,160\n1,4,forward,44\n"
      "1,4,all-reduce,150\n0,5,forward,41\n0,5,my_phase,2\n0,5,x,-1\n",
      "list");
  ASSERT_TRUE(times) << times.error().message();
  EXPECT_EQ(times->wall_ns, (Doubles{200e6, 43e6}));
  EXPECT_EQ(times->iterations, (std::vector<std::int64_t>{4, 5}));
  EXPECT_EQ(times->ranks.size(), 3U);
  EXPECT_EQ(part_names(*times), (Texts{"forward", "all-reduce", "my_phase"}));
  EXPECT_EQ(times->parts.names[1].kind, StepPartKind::communication);
  EXPECT_EQ(times->parts.names[2].kind, StepPartKind::other);
  EXPECT_TRUE(times->parts.summed);
  EXPECT_EQ(times->left_out, 1U);
  ASSERT_EQ(times->remarks.size(), 1U);
  EXPECT_NE(times->remarks[0].find("sum of its phases"), std::string::npos);
  const auto whole = parse_step_times(
      "phase,time_s\nforward,1\nbackward,2\nstep,3.5\nforward,2\nbackward,2\nstep,4\n", "list");
  ASSERT_TRUE(whole) << whole.error().message();
  EXPECT_EQ(whole->wall_ns, (Doubles{3.5e9, 4e9}));
  EXPECT_FALSE(whole->parts.summed);
}

TEST(StepTimes, ColumnsOfPhasesAreKeptAndOthersAreNamed) {
  const auto times = parse_step_times(
      "step,forward_ms,Backward_time_ms,comm_ms,step_ms,loss\n7,10,20,5,33,2.5\n8,11,21,,34,2.4\n",
      "list");
  ASSERT_TRUE(times) << times.error().message();
  EXPECT_EQ(times->wall_ns, (Doubles{33e6, 34e6}));
  EXPECT_EQ(part_names(*times), (Texts{"forward", "Backward_time", "comm"}));
  EXPECT_FALSE(times->parts.summed);
  ASSERT_EQ(times->parts.rows.size(), 2U);
  EXPECT_EQ(times->parts.rows[1].ns, (Doubles{11e6, 21e6, 0}));
  EXPECT_EQ(times->remarks, Texts{"columns not used: loss"});
  const auto summed = parse_step_times("forward,backward\n1,2\n2,3\n", "list", TimeUnit::s);
  ASSERT_TRUE(summed) << summed.error().message();
  EXPECT_EQ(summed->wall_ns, (Doubles{3e9, 5e9}));
  EXPECT_TRUE(summed->parts.summed && summed->unit_assumed && summed->remarks.empty());
  const auto ranks =
      parse_step_times("rank,compute_ms,comm_ms\n0,8,4\n1,9,4\n0,7,4\n1,7,5\n", "list");
  ASSERT_TRUE(ranks) << ranks.error().message();
  EXPECT_EQ(ranks->wall_ns, (Doubles{13e6, 12e6}));
  EXPECT_EQ(ranks->parts.rows.size(), 4U);
}

// A column "data" may be anything, and a sentence is no table.
TEST(StepTimes, OneNameOfAPhaseIsNoTable) {
  const auto times = parse_step_times("step_time_ms,data,x\n5,3,1\n", "list");
  ASSERT_TRUE(times);
  EXPECT_TRUE(times->parts.names.empty());
  EXPECT_EQ(times->remarks, Texts{"columns not used: data, x"});
  EXPECT_NE(error_of("forward\n1\n").find("names no step time"), std::string::npos);
  EXPECT_NE(error_of("data,other\n1,2\n").find("names no step time"), std::string::npos);
  EXPECT_NE(error_of("Forward, then backward\n").find("names no step time"), std::string::npos);
}

TEST(StepTimes, JsonTablesAreReadLikeCsv) {
  EXPECT_EQ(ns_of(R"({"step_time_ms": [5, 6.5]})"), (Doubles{5e6, 6.5e6}));
  EXPECT_EQ(ns_of(R"([{"step": 1, "step_time_s": 0.5}, {"step": 2, "step_time_s": 0.25}])"),
            (Doubles{0.5e9, 0.25e9}));
  const auto phases = parse_step_times(
      R"({"compute_ms": [850, 851], "comm_ms": [400, 401], "step_ms": [950, 951]})", "list");
  ASSERT_TRUE(phases) << phases.error().message();
  EXPECT_EQ(phases->wall_ns, (Doubles{950e6, 951e6}));
  EXPECT_EQ(part_names(*phases), (Texts{"compute", "comm"}));
  const auto one = parse_step_times(R"({"compute": 15, "comm": 20, "step_ms": 24})", "list");
  ASSERT_TRUE(one) << one.error().message();
  EXPECT_EQ(one->wall_ns, Doubles{24e6});
  const auto rows = parse_step_times(
      R"([{"phase": "forward", "time_ms": 3}, {"phase": "backward", "time_ms": 6}])", "list");
  ASSERT_TRUE(rows) << rows.error().message();
  EXPECT_EQ(rows->wall_ns, Doubles{9e6});
  EXPECT_NE(error_of(R"([{"step_time_ms": 4}, 5])").find("no table of times"), std::string::npos);
}

// Lines of a health check behind the prefixes of launchers and loggers.
TEST(StepTimes, PrintedListsOfRanksMayStandBehindAPrefix) {
  for (const std::string prefix :
       {"", "[default0]:", "[rank0]:", "[rank0]: ", "0: ", "2026-01-02 03:04:05 INFO ",
        "[2026-01-02 03:04:05,678] [INFO] ", "INFO:root:", "[1,0]<stdout>: "}) {
    const auto times =
        parse_step_times(prefix + "Rank 0: avg=100.2ms, times=['101.1', '99.3']\n" + prefix + "\n" +
                             prefix + "Rank 1: avg=119.9ms, times=['120.1', '119.7']\n",
                         "list");
    ASSERT_TRUE(times) << prefix << times.error().message();
    EXPECT_EQ(times->wall_ns, (Doubles{120.1e6, 119.7e6})) << prefix;
    EXPECT_EQ(times->ranks.size(), 4U) << prefix;
  }
  // No list of a rank, although words of one are there.
  for (const char* text : {"Frank 0: avg=1ms, times=['1.0']\n", "[rank0]: times=['1.0']\n",
                           "Rank 0 is slow: times=['1.0']\n", "Rank 0: times=['fast']\n"})
    EXPECT_NE(error_of(text).find("names no step time"), std::string::npos) << text;
}

TEST(StepTimes, ThreePrintedFiguresOfAnOverlapAreAStep) {
  const char* const texts[] = {
      "\nOverlap Profiling Results:\n  Compute only: 15.00 ms\n  Comm only: 20.00 ms\n"
      "  Sequential (no overlap): 35.00 ms\n  Actual total: 24.00 ms\n",
      "| Metric | Value |\n|---|---|\n| Compute only | ~15 ms |\n| Comm only | ~20 ms |\n"
      "| Sequential | ~35 ms |\n| Actual total | ~24 ms |\n",
      R"({"compute_only_ms": 15.0, "comm_only_ms": 20.0, "total_time_ms": 24.0})"};
  for (const char* text : texts) {
    const auto times = parse_step_times(text, "overlap");
    ASSERT_TRUE(times) << times.error().message();
    EXPECT_EQ(times->wall_ns, Doubles{24e6});
    EXPECT_FALSE(times->unit_assumed);
    ASSERT_EQ(times->parts.rows.size(), 1U);
    EXPECT_EQ(times->parts.rows[0].ns, (Doubles{15e6, 20e6}));
    EXPECT_EQ(times->parts.names[1].kind, StepPartKind::communication);
  }
  EXPECT_EQ(ns_of(std::string(texts[0]) + texts[0]), (Doubles{24e6, 24e6}));
  EXPECT_NE(error_of("Compute only: 15 ms\nComm only: 20 ms\n").find("names no step time"),
            std::string::npos);
}

TEST(StepTimes, TimesByTheSizeOfAMessageAreNoSteps) {
  EXPECT_NE(error_of("size_bytes,time_s\n1024,0.00002\n").find("calibrate"), std::string::npos);
  EXPECT_EQ(ns_of("step,bytes,time_s\n1,1024,0.5\n"), Doubles{0.5e9});
}

TEST(StepTimes, ATotalBesidePhasesIsTheStep) {
  const auto times = parse_step_times(
      R"({"compute_time": 150.0, "comm_time": 200.0, "total_time": 240.0})", "tracker");
  ASSERT_TRUE(times) << times.error().message();
  EXPECT_EQ(times->wall_ns, Doubles{240e6});
  EXPECT_FALSE(times->parts.summed);
  EXPECT_TRUE(times->remarks.empty());
  EXPECT_EQ(ns_of("forward_ms,backward_ms,total_time_s\n1,2,0.004\n"), Doubles{4e6});
  EXPECT_EQ(ns_of("step_ms,forward_ms,backward_ms,total_ms\n5,1,2,4\n"), Doubles{5e6});
  EXPECT_EQ(ns_of(R"([{"forward": 0.04, "backward_with_allreduce": 0.06}])"), Doubles{0.1e6});
}

TEST(StepTimes, WhatIsMeasuredOfOtherThingsIsNoStep) {
  EXPECT_NE(error_of("[1.9e-05, 9.8e10]").find("result of a fit"), std::string::npos);
  EXPECT_NE(error_of("[[1024, 1.9e-05], [65536, 2.1e-05]]").find("a size and a time"),
            std::string::npos);
  EXPECT_NE(error_of(R"([{"rank": 3, "time": 0.065, "z_score": 2.6, "slowdown": 3.1}])")
                .find("ranks that stand out"),
            std::string::npos);
  // Ranks whose steps are whole numbers, and stages.
  EXPECT_EQ(ns_of("[[100, 99], [101, 98]]"), (Doubles{101e6, 99e6}));
  EXPECT_EQ(ns_of("[[0.011, 0.012], [0.013, 0.014]]"), (Doubles{0.013e6, 0.014e6}));
}

TEST(StepTimes, TokensAreThoseThatEachStepTells) {
  const auto train = [](const std::string& second) {
    return *parse_step_times(
        R"({"schema":"stepscope.train/1","steps":[{"wall_ns":1000,"tokens":64},{"wall_ns":2000)" +
            second + "}]}",
        "train.json");
  };
  EXPECT_EQ(train(R"(,"tokens":64)").tokens, (Doubles{64, 64}));
  EXPECT_TRUE(train("").tokens.empty());
  EXPECT_TRUE(parse_step_times("5\n6\n", "list")->tokens.empty());
}

}  // namespace
}  // namespace stepscope
