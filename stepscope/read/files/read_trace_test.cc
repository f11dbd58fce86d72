// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/files/read_trace.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "stepscope/base/files/open_source.h"
#include "stepscope/base/scratch_test_folder.h"
#include "stepscope/read/kineto/kineto_test_source.h"
#include "stepscope/read/nsys/nsys_test_export.h"

namespace stepscope {
namespace {

using test::joined;
using test::op;
using test::slices_of;

class ReadTraceTest : public testing::Test {
 protected:
  std::string write(std::string_view name, std::string_view text) {
    const std::string path = joined({root_, "/", name});
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  // A trace of `rank` (none if negative) on the unix clock with one row that begins at `ts`.
  std::string write_rank(std::string_view name, int rank, std::string_view ts,
                         std::string_view more = "", std::string_view behind = "") {
    return write(name, joined({"{",
                               rank < 0 ? ""
                                        : joined({R"("distributedInfo": {"rank": )",
                                                  std::to_string(rank), R"(, "world_size": 4}, )"}),
                               R"("baseTimeNanoseconds": 1711964646000000000, "traceEvents": [)",
                               op("row", ts, "10", more), behind, "]}"}));
  }
  const test::Folder folder_;
  const std::string root_ = folder_.path.string();
};

TEST_F(ReadTraceTest, RanksComeSortedWithTheirSource) {
  const stepscope::Run run =
      read_run(std::vector{write_rank("b.json", 2, "5"), write_rank("a.json", 0, "5")},
               {.threads = 2, .stop = nullptr, .progress = {}});
  ASSERT_EQ(run.ranks.size(), 2U);
  EXPECT_EQ(run.ranks[0].rank, 0);
  EXPECT_EQ(run.ranks[1].rank, 2);
  EXPECT_EQ(run.ranks[1].source, RankSource::metadata);
  EXPECT_EQ(run.world_size, 4);
  EXPECT_TRUE(run.errors.empty());
  ASSERT_EQ(run.inputs.size(), 2U);
  EXPECT_EQ(run.inputs[0].rank, 2);
  EXPECT_EQ(run.inputs[0].format, "kineto");
  EXPECT_EQ(run.inputs[0].clock, Clock::unix_epoch);
  EXPECT_EQ(run.inputs[0].notes.events, 1U);
}

TEST_F(ReadTraceTest, RowsWithoutCategoriesCannotBeAccountedFor) {
  const auto file = [&](std::string_view name, std::string_view cat) {
    return write(name,
                 joined({R"({"traceEvents": [{"ph": "X", )", cat,
                         R"("name": "cuLaunchKernel", "pid": 5, "tid": 5, "ts": 0, "dur": 4}]})"}));
  };
  const auto error_of = [](const std::string& path) {
    return read_run(std::vector{path}).inputs.at(0).error;
  };
  const auto refused = error_of(file("none.json", ""));
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->what.find("no row has a category"), std::string::npos);
  EXPECT_FALSE(refused->hint.empty());
  EXPECT_FALSE(error_of(file("unknown.json", R"("cat": "mine", )")));
  EXPECT_FALSE(error_of(file("known.json", R"("cat": "cuda_driver", )")));
}

TEST_F(ReadTraceTest, WithoutMetadataNamesThenOrderTellTheRank) {
  stepscope::Run run =
      read_run(std::vector{write_rank("rank5.json", -1, "5"), write_rank("rank3.json", -1, "5")});
  ASSERT_EQ(run.ranks.size(), 2U);
  EXPECT_EQ(run.ranks[0].rank, 3);
  EXPECT_EQ(run.ranks[0].source, RankSource::file_name);
  std::filesystem::create_directories(root_ + "/worker0");
  std::filesystem::create_directories(root_ + "/worker1");
  run = read_run(
      std::vector{write_rank("worker1/x.json", -1, "5"), write_rank("worker0/x.json", -1, "5")});
  ASSERT_EQ(run.ranks.size(), 2U);
  EXPECT_EQ(run.inputs[0].rank, 1);
  EXPECT_EQ(run.ranks[0].source, RankSource::file_name);
  const std::string call = joined({",\n", op("nccl:all_reduce", "6", "1")});
  run = read_run(std::vector{write_rank("x.json", -1, "5", "", call),
                             write_rank("y.json", -1, "5", "", call),
                             write_rank("z.json", 0, "5", "", call)});
  ASSERT_EQ(run.ranks.size(), 3U);
  EXPECT_EQ(run.ranks[1].source, RankSource::order);
  EXPECT_EQ(run.ranks[2].rank, 2);
  run = read_run(std::vector{write_rank("x.json", -1, "5")});
  EXPECT_EQ(run.ranks.at(0).source, RankSource::only_file);
}

TEST_F(ReadTraceTest, FilesOfOneRankWithDisjointTimesAreWindows) {
  const std::string ids = R"(, "args": {"External id": 1, "correlation": 1})";
  const stepscope::Run run = read_run(
      std::vector{write_rank("later.json", 1, "500", ids), write_rank("first.json", 1, "5", ids)});
  ASSERT_EQ(run.ranks.size(), 1U);
  EXPECT_TRUE(run.errors.empty());
  const Trace& t = run.ranks[0].trace;
  EXPECT_EQ(slices_of(t), "row 1711964646000005000 10000, row 1711964646000500000 10000");
  EXPECT_EQ(test::broken_rule(t), "");
  // Ids count from one in each window and have different meanings.
  EXPECT_NE(t.slices.external_id[0], t.slices.external_id[1]);
  EXPECT_NE(t.slices.correlation[0], t.slices.correlation[1]);
}

TEST_F(ReadTraceTest, TwoFilesForOneRankAtOneTimeAreAnErrorThatNamesBoth) {
  const std::string a = write_rank("a.json", 1, "5");
  const std::string b = write_rank("b.json", 1, "7");
  const stepscope::Run run = read_run(std::vector{a, b});
  ASSERT_EQ(run.ranks.size(), 1U);
  ASSERT_EQ(run.errors.size(), 1U);
  EXPECT_NE(run.errors[0].message().find(a), std::string::npos);
  EXPECT_NE(run.errors[0].message().find(b), std::string::npos);
  EXPECT_NE(run.errors[0].message().find("rank 1"), std::string::npos);
  EXPECT_EQ(run.ranks[0].trace.metadata.path, a);
}

TEST_F(ReadTraceTest, AFileThatFailsDoesNotStopTheOthers) {
  const stepscope::Run run = read_run(std::vector{
      write("bad.json", "hello"), write_rank("good.json", 1, "5"), root_ + "/missing.json"});
  ASSERT_EQ(run.ranks.size(), 1U);
  ASSERT_TRUE(run.inputs[0].error.has_value());
  EXPECT_TRUE(run.inputs[0].format.empty());
  EXPECT_FALSE(run.inputs[1].error.has_value());
  ASSERT_TRUE(run.inputs[2].error.has_value());
  EXPECT_NE(run.inputs[2].error->message().find("missing.json"), std::string::npos);
}

TEST_F(ReadTraceTest, ALargeFileIsReadByAllThreadsToTheSameResult) {
  std::string events;
  for (int i = 0; i < 60'000; ++i)
    events += joined(
        {op(std::to_string(i % 100), std::to_string(i), "1", R"(, "args": {"External id": 7})"),
         ",\n"});
  const std::string path = write("rank0.json", test::document(events));
  const stepscope::Run one = read_run(std::vector{path});
  std::uint64_t last = 0;
  const stepscope::Run three = read_run(
      std::vector{path},
      {.threads = 3, .stop = nullptr, .progress = [&](std::uint64_t done, std::uint64_t total) {
         EXPECT_LE(done, total);
         last = std::max(last, total);
       }});
  ASSERT_EQ(one.ranks.size(), 1U);
  EXPECT_EQ(one.ranks[0].trace.slices.size(), 60'000U);
  EXPECT_EQ(test::text_of(three.ranks.at(0).trace), test::text_of(one.ranks[0].trace));
  EXPECT_EQ(last, std::filesystem::file_size(path));
}

TEST_F(ReadTraceTest, AStopGivesNoRanksAndSaysInterrupted) {
  StopFlag stop;
  stop.request();
  const stepscope::Run run =
      read_run(std::vector{write_rank("a.json", 0, "5"), write_rank("b.json", 1, "5")},
               {.threads = 1, .stop = &stop, .progress = {}});
  EXPECT_TRUE(run.ranks.empty());
  ASSERT_TRUE(run.inputs.at(0).error.has_value());
  EXPECT_TRUE(run.inputs[0].error->code == ErrorCode::interrupted);
}

TEST_F(ReadTraceTest, AReportOfNsightSystemsIsRefusedWithTheCommandThatConvertsIt) {
  const stepscope::Run run = read_run(std::vector{write("rank0.nsys-rep", "binary")});
  ASSERT_TRUE(run.inputs[0].error);
  EXPECT_NE(run.inputs[0].error->message().find("nsys export --type sqlite"), std::string::npos);
}

TEST_F(ReadTraceTest, AJsonExportOfNsightSystemsIsRefusedWithTheCommandThatHelps) {
  for (const char* text :
       {R"({"data":["[Unknown]","cuda"],"files":[]})"
        "\n"
        R"({"Type":79,"CudaEvent":{"startNs":"5","endNs":"9"}})",
        R"({"Type":59,"NvtxEvent":{"Timestamp":"12","Text":"step"}})",
        R"([{"Type":48,"CudaEvent":{"startNs":"5","endNs":"9"}}])",
        "{\n  \"data\": [\n    \"[Unknown]\",\n    \"cuda\"\n  ]\n}\n",
        "{\n  \"Type\": 48,\n  \"CudaEvent\": {\n    \"startNs\": \"5\"\n}}\n"}) {
    const stepscope::Run run = read_run(std::vector{write("trace.json", text)});
    ASSERT_TRUE(run.inputs[0].error);
    EXPECT_NE(run.inputs[0].error->message().find("nsys export --type sqlite"), std::string::npos);
  }
}

TEST_F(ReadTraceTest, RanksOfExportsWithoutNumbersGoOnFromFileToFile) {
  const auto two_gpus = [] {
    test::NsysBuilder b;
    b.session().kernel(1, 2, 1, "ncclDevKernel_AllReduce", 20, 0).kernel(1, 2, 1, "k", 21, 1);
    // The second node of a job with an unknown number of ranks per node.
    b.sql("CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT)");
    b.sql("INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT_VARIABLE','NODE_RANK=1')");
    return b.bytes();
  };
  const stepscope::Run run =
      read_run(std::vector{write("a.sqlite", two_gpus()), write("b.sqlite", two_gpus())});
  ASSERT_EQ(run.ranks.size(), 4U);
  for (std::size_t r = 0; r < 4; ++r) {
    EXPECT_EQ(run.ranks[r].rank, static_cast<int>(r));
    EXPECT_EQ(run.ranks[r].source, RankSource::order);
  }
  EXPECT_EQ(run.inputs[1].rank, 2);
  EXPECT_EQ(run.inputs[1].format, "nsys");
}

TEST_F(ReadTraceTest, CountsNamesThatCannotBeShown) {
  const std::string good = op("caf\xC3\xA9", "1", "1", "");
  const std::string path = write(
      "odd.json", joined({R"({"traceEvents": [)", good, ",", op("red\x1B[31m", "2", "1", ""), ",",
                          op("red\x1B[31m", "3", "1", ""), ",", op("cut\xC3", "4", "1", ""), ",",
                          op("turned\xE2\x80\xAE", "5", "1", ""), "]}"}));
  const stepscope::Run run = read_run(std::vector{path}, {.stop = nullptr, .progress = {}});
  ASSERT_EQ(run.inputs.size(), 1U);
  EXPECT_EQ(run.inputs[0].notes.counts.at("unprintable_name"), 3U);
  ASSERT_EQ(run.ranks.size(), 1U);
  EXPECT_EQ(run.ranks[0].trace.slices.size(), 5U);
}

}  // namespace
}  // namespace stepscope
