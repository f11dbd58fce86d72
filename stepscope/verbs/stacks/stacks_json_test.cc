// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/stacks/stacks_json.h"

#include <gtest/gtest.h>

#include "stepscope/verbs/stacks/stacks_test_results.h"

namespace stepscope {
namespace {

using namespace test;

TEST(StacksJson, SaysWhyNothingIsJoined) {
  StacksBeside b(waiting_thread, 40, 88);
  b.report.trace->profiles[0].join.reset();
  b.report.trace->profiles[0].why_not = msg::plain("it has no instants");
  const Json profile = stacks_trace_json(b.report)["profiles"][0];
  EXPECT_EQ(profile["joined"], false);
  EXPECT_EQ(profile["not_joined"], "it has no instants");
}

std::string file_of(const std::vector<CsvFile>& files, std::string_view name) {
  const auto at = std::ranges::find(files, name, &CsvFile::name);
  return at == files.end() ? std::string() : at->text;
}

TEST(Tables, StacksHaveARowAThreadAndPhase) {
  const StacksBeside b(waiting_thread, 40, 88);
  const auto files = csv_files(stacks_tables(stacks_tree(b.report)));
  EXPECT_TRUE(
      file_of(files, "threads.csv").starts_with("thread,process,input,pass,phase,weight\r\nmain,"))
      << file_of(files, "threads.csv");
  EXPECT_NE(file_of(files, "functions.csv").find("take_gil"), std::string::npos);
}

}  // namespace
}  // namespace stepscope
