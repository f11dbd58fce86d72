// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/inputs/traces.h"

#include <gtest/gtest.h>

#include <fstream>

#include "stepscope/base/scratch_test_folder.h"

namespace stepscope {
namespace {

std::string trace_file(const test::Folder& folder, int rank) {
  std::string path = folder.file("rank" + std::to_string(rank) + ".json");
  std::ofstream(path) << R"({"distributedInfo": {"world_size": 2, "rank": )" << rank << R"(},
    "traceEvents": [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1",
                     "pid": 1, "tid": 1, "ts": 10, "dur": 100},
                    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 20,
                     "dur": 50, "args": {"device": 0, "stream": 7}}]})";
  return path;
}

// Options that fail once, as a check on the trace of rank 1 would.
struct FailingOnce {
  std::optional<std::size_t> input;
  int asked = 0;

  JobOptions operator()(const ReadTraces&) {
    if (++asked > 1) return {};
    Bug bug("stepscope/some.cc:1: some sum");
    bug.input = input;
    throw std::move(bug);
  }
};

TEST(AnalyzeTraces, RefuseTheTraceOnWhichACheckFails) {
  const test::Folder folder;
  const TracesRequest request{.inputs = {trace_file(folder, 0), trace_file(folder, 1)}};
  std::vector<std::string> reported;
  const Progress progress{.failed = [&](const Error& e) { reported.push_back(e.message()); }};
  const auto analyzed = analyze_traces(request, progress, FailingOnce{.input = 1});
  ASSERT_TRUE(analyzed) << analyzed.error().message();
  ASSERT_EQ(analyzed->job.ranks.size(), 1U);
  EXPECT_EQ(analyzed->job.ranks[0].rank, 0);
  ASSERT_EQ(analyzed->read.failures.size(), 1U);
  EXPECT_EQ(analyzed->read.failures[0].file, request.inputs[1]);
  EXPECT_EQ(analyzed->read.failures[0].what,
            "is not analysed: stepscope has a bug (stepscope/some.cc:1: some sum)");
  EXPECT_EQ(reported, std::vector{analyzed->read.failures[0].message()});
}

TEST(AnalyzeTraces, RefuseAllWhereACheckFailsOnAll) {
  const test::Folder folder;
  const TracesRequest one{.inputs = {trace_file(folder, 1)}};
  EXPECT_FALSE(analyze_traces(one, {}, FailingOnce{.input = 0}));
  const TracesRequest two{.inputs = {trace_file(folder, 0), trace_file(folder, 1)}};
  EXPECT_FALSE(analyze_traces(two, {}, FailingOnce{}));
}

}  // namespace
}  // namespace stepscope
