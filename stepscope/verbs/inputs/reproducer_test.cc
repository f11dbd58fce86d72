// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/inputs/reproducer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "stepscope/base/files/open_source.h"
#include "stepscope/base/scratch_test_folder.h"
#include "stepscope/read/files/read_trace.h"

namespace stepscope {
namespace {

// Three steps. The second has a copy, the others have a kernel.
constexpr std::string_view three_steps = R"({"distributedInfo": {"world_size": 1, "rank": 0},
  "traceEvents": [
  {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1,
   "ts": 10, "dur": 90},
  {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "pid": 1, "tid": 1,
   "ts": 100, "dur": 100},
  {"ph": "X", "cat": "user_annotation", "name": "secret plan", "pid": 1, "tid": 1,
   "ts": 110, "dur": 50},
  {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 1, "tid": 1,
   "ts": 200, "dur": 100},
  {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 20, "dur": 50,
   "args": {"device": 0, "stream": 7}},
  {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 7, "ts": 120, "dur": 50,
   "args": {"device": 0, "stream": 7}},
  {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 220, "dur": 50,
   "args": {"device": 0, "stream": 7}}]})";

// A check that fails on traces with a copy.
std::string fails_on_copies(const std::string& file) {
  const auto traces = read_file_sealed(file);
  if (!traces) return traces.error().message();
  const auto& categories = (*traces)[0].slices.category;
  return std::ranges::find(categories, Category::memcpy) != categories.end() ? "no copy" : "";
}

TEST(Reproducer, HasTheRowsOfOneStepWithoutTheNamesOfTheProgram) {
  const test::Folder folder;
  std::ofstream(folder.file("trace.json")) << three_steps;
  const auto traces = read_file_sealed(folder.file("trace.json"));
  ASSERT_TRUE(traces) << traces.error().message();
  const std::string path = folder.file("small.json");
  const auto written = write_reproducer((*traces)[0], {}, "no copy", path, fails_on_copies);
  ASSERT_TRUE(written) << written.error().message();
  const auto small = read_file_sealed(path);
  ASSERT_TRUE(small) << small.error().message();
  EXPECT_EQ((*small)[0].slices.size(), 3U);
  const std::string text = *read_text(path);
  EXPECT_NE(text.find("ProfilerStep#2"), std::string::npos);
  EXPECT_NE(text.find("Memcpy HtoD"), std::string::npos);
  EXPECT_EQ(text.find("secret plan"), std::string::npos);
}

TEST(Reproducer, IsNotWrittenWhereTheCheckNeedsWhatIsLeftOut) {
  const test::Folder folder;
  std::ofstream(folder.file("trace.json")) << three_steps;
  const auto traces = read_file_sealed(folder.file("trace.json"));
  ASSERT_TRUE(traces) << traces.error().message();
  const std::string path = folder.file("small.json");
  EXPECT_FALSE(write_reproducer((*traces)[0], {}, "another check", path, fails_on_copies));
  EXPECT_FALSE(std::ifstream(path).is_open());
}

}  // namespace
}  // namespace stepscope
