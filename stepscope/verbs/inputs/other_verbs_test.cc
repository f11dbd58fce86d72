// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/inputs/other_verbs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "stepscope/base/scratch_test_folder.h"
#include "stepscope/verbs/analyze/analyze.h"
#include "stepscope/verbs/check/check.h"
#include "stepscope/verbs/inputs/launches.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

class OtherVerbs : public testing::Test {
 protected:
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(dir_ / name, std::ios::binary) << text;
    return (dir_ / name).string();
  }
  // The verbs alone, without "stepscope" and the file.
  static std::vector<std::string> verbs(const std::string& path) {
    std::vector<std::string> found;
    for (const std::string& command : commands_that_read(path)) {
      EXPECT_TRUE(command.starts_with("stepscope ")) << command;
      EXPECT_NE(command.find(path), std::string::npos) << command;
      found.push_back(command.substr(10, command.find(' ', 10) - 10));
    }
    return found;
  }
  const test::Folder folder_;
  const fs::path dir_ = folder_.path;
};

using Verbs = std::vector<std::string>;

constexpr const char* nccl_line =
    "host:7:7 [0] NCCL INFO comm 0x5581 rank 0 nranks 2 cudaDev 0 busId 1000 commId 0xa1 - Init "
    "COMPLETE\n";

TEST_F(OtherVerbs, AnErrorAboutATraceNamesAnalyze) {
  const std::string trace = write("a.json", R"({"schemaVersion":1,"traceEvents":[]})");
  const Error of_trace = with_analyze({.what = "no snapshot", .file = trace, .byte = 3}, "memory");
  EXPECT_EQ(of_trace.message(), trace + ": is a trace; stepscope analyze " + trace + " reads it");
  EXPECT_EQ(with_analyze({.what = "x", .file = dir_.string()}, "memory").what,
            "is a directory of traces");
  const std::string log = write("b.log", nccl_line);
  EXPECT_EQ(with_analyze({.what = "no snapshot", .file = log}, "memory").what, "no snapshot");
  EXPECT_EQ(with_analyze({.what = "no file is named"}, "memory").what, "no file is named");
}

TEST_F(OtherVerbs, NameTheOtherFilesOfAFolderOnceAVerb) {
  const std::string trace = write("a.json", R"({"schemaVersion":1,"traceEvents":[]})");
  const std::string nccl = write("nccl.log", nccl_line);
  static_cast<void>(write("steps1.txt", "101.5\n102.5\n101.7\n"));
  static_cast<void>(write("steps2.txt", "101.5\n102.5\n101.7\n"));
  const std::vector<std::string> read = {trace};
  const std::string folder = dir_.string();
  EXPECT_EQ(
      commands_for_others(folder, read),
      (Verbs{"stepscope hang " + nccl, "stepscope check " + folder + "/steps1.txt (and 1 more)"}));
  static_cast<void>(write("nccl2.log", nccl_line));
  EXPECT_EQ(commands_for_others(folder, read).front(), "stepscope hang " + folder);
}

TEST_F(OtherVerbs, AreThoseWhoseReadersTakeTheFile) {
  EXPECT_EQ(verbs(write("nccl.log", nccl_line)), Verbs{"hang"});
  EXPECT_EQ(verbs(write("steps.txt", "101.5\n102.5\n101.7\n")), Verbs{"check"});
  EXPECT_EQ(verbs(write("steps.csv", "step,step_time_ms\n1,101.5\n2,102.5\n")), Verbs{"check"});
  EXPECT_EQ(verbs(write("both.log", std::string(nccl_line) + "step_time_ms=101.5\n")),
            (Verbs{"hang", "check"}));
  EXPECT_EQ(verbs(write("stacks.txt", "main;forward;gemm 12\nmain;backward 5\n")), Verbs{"stacks"});
  EXPECT_EQ(verbs(write("m.json", R"({"n_layer":2,"n_embd":64,"n_head":4,"vocab_size":100,)"
                                  R"("n_positions":128,"model_type":"gpt2"})")),
            Verbs{"predict"});
  const std::string ds = write("ds.json", R"({"train_batch_size": 32, "zero_optimization": {}})");
  EXPECT_EQ(commands_that_read(ds), Verbs{"stepscope predict MODEL --ds-config " + ds});
}

TEST_F(OtherVerbs, AModelOfAFamilyThatIsNotKnownIsNamedWithTheReason) {
  const std::string path =
      write("t5.json", R"({"architectures":["T5ForConditionalGeneration"],"model_type":"t5"})");
  EXPECT_EQ(verbs(path), Verbs{});
  const Error error = with_model_reason({.what = "JSON without traceEvents", .file = path});
  EXPECT_EQ(error.what, "is the config.json of a model and no trace");
  EXPECT_NE(error.hint.find("a family that is not known"), std::string::npos) << error.hint;
  const std::string other = write("other.json", R"({"answer": 42})");
  EXPECT_EQ(with_model_reason({.what = "x", .file = other}).what, "x");
}

TEST_F(OtherVerbs, AreNoneForWhatNoVerbReads) {
  EXPECT_EQ(verbs(write("prose.txt", "Once upon a time there was a trace.\n")), Verbs{});
  EXPECT_EQ(verbs(write("empty.json", "")), Verbs{});
  EXPECT_EQ(verbs(write("job.yaml", "model: llama\nnodes: 4\ngpus per node: 8\n")), Verbs{});
  EXPECT_EQ(verbs(write("jobs.txt", "JOBID NAME NODES\n4711 pretrain 64\n4712 eval 2\n")), Verbs{});
  EXPECT_EQ(verbs(write("other.json", R"({"answer": 42})")), Verbs{});
  EXPECT_EQ(verbs(write("timeline.json", "[[-1, 1, 37888, 7], [-1, 1, 512, 7], [5, 2, 512, 7]]")),
            Verbs{});
  EXPECT_EQ(verbs((dir_ / "absent.json").string()), Verbs{});
}

TEST_F(OtherVerbs, TheErrorOfAVerbOfStepTimesNamesThem) {
  const std::string log = write("nccl.log", nccl_line);
  const auto checked = check({.traces = {.inputs = {log}}});
  ASSERT_FALSE(checked);
  EXPECT_TRUE(checked.error().message().ends_with("; stepscope hang " + log + " reads it"))
      << checked.error().message();
  Messages remarks;
  std::vector<Error> failures;
  EXPECT_FALSE(read_launch(log, {}, {}, remarks, failures));
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].hint, "stepscope hang " + log + " reads it");
  const std::string prose = write("prose.txt", "Once upon a time there was a trace.\n");
  const Error none = with_other_verbs({.what = "x", .file = prose, .hint = "write numbers"});
  EXPECT_EQ(none.hint, "write numbers");
}

TEST_F(OtherVerbs, TheErrorAboutATableOfNcclTestsNamesCalibrate) {
  const std::string titles =
      "#       size         count    type     time   algbw   busbw  error     time   algbw   busbw "
      "error\n";
  const std::string cut = write("cut.txt", titles + "     1048576        131072   float\n");
  const Error of_cut = with_other_verbs({.what = "x", .file = cut, .hint = "give a log"});
  EXPECT_NE(of_cut.what.find("has no measured row"), std::string::npos) << of_cut.what;
  EXPECT_NE(of_cut.hint.find("stepscope calibrate MACHINE.json --from " + cut), std::string::npos)
      << of_cut.hint;
  const std::string nameless = write(
      "nameless.txt", titles + "1048576 131072 float 66.86 15.68 7.84 0 66.60 15.74 7.87 0\n");
  EXPECT_NE(with_other_verbs({.what = "x", .file = nameless}).what.find("which collective"),
            std::string::npos);
}

TEST_F(OtherVerbs, TheErrorOfAnalyzeNamesThem) {
  const std::string path = write("nccl.log", nccl_line);
  AnalyzeRequest request;
  request.traces.inputs = {path};
  const auto result = analyze(request);
  ASSERT_TRUE(result) << result.error().message();
  ASSERT_EQ(result->failures.size(), 1U);
  EXPECT_EQ(result->failures[0].message(),
            path + ": is no trace; stepscope hang " + path + " reads it");
}

}  // namespace
}  // namespace stepscope
