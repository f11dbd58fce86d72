// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/stacks/stacks_text.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "stepscope/base/scratch_test_folder.h"
#include "stepscope/verbs/stacks/stacks_test_results.h"

namespace stepscope {
namespace {

using namespace test;

TEST(StacksText, SaysWhyNothingIsJoined) {
  StacksBeside b(waiting_thread, 40, 88);
  b.report.trace->profiles[0].join.reset();
  b.report.trace->profiles[0].why_not = msg::plain("it has no instants");
  const std::string text = stacks_trace_text(b.report, 100);
  EXPECT_NE(text.find("not joined in time: it has no instants."), std::string::npos) << text;
  EXPECT_NE(text.find("computing 80.0 %"), std::string::npos) << text;
}

StacksResult result_of(const std::string& name, const std::string& text) {
  static const Folder folder;
  const std::filesystem::path path = folder.path / name;
  std::ofstream(path) << text;
  auto result = stacks({.profiles = {path.string()}});
  EXPECT_TRUE(result) << result.error().message();
  return std::move(*result);
}

TEST(StacksText, RemaindersOfAnExcerptAreNoThreads) {
  const StacksResult r = result_of("tree.txt",
                                   "'total' (100)\n'python3' (90)\n'MainThread' (80)\n'f' (70)\n"
                                   "'total' (100)\n'python3' (90)\n'pt_autograd_0' (5)\n'g' (5)\n");
  ASSERT_EQ(r.summary.threads.size(), 4U);
  const std::string text = stacks_text(r, {.text = {.width = 100}});
  EXPECT_NE(text.find(" · 2 threads · "), std::string::npos) << text;
  EXPECT_NE(text.find("  python3: 90 samples in 3 threads\n"), std::string::npos) << text;
}

TEST(StacksText, AFunctionOfSeveralPhasesHasTheShareOfTheLargest) {
  const std::string wait = ";synchronize (torch/cuda/streams.py:227) ";
  const StacksResult r = result_of(
      "two.collapsed", "T;fetch_sub_module" + wait + "40\nT;__reduce_and_partition_ipg_grads" +
                           wait + "30\nT;g;__reduce_and_partition_ipg_grads" + wait + "30\n");
  const std::string text = stacks_text(r, {.text = {.width = 130}});
  EXPECT_NE(text.find("ZeRO-3 reduce throttle 60.0 %"), std::string::npos) << text;
}

}  // namespace
}  // namespace stepscope
