// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/sentences/compare_sentence.h"

#include <gtest/gtest.h>

#include <string>

#include "stepscope/report/sentences/verb_test_results.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

using namespace test;

TEST(CompareSentence, OpensWithTheVerdict) {
  EXPECT_TRUE(
      say_stopped(compare_sentence(compared(launch_of_steps(200, 100), launch_of_steps(200, 110))))
          .starts_with("B is slower: B's steps take 10.0 % longer than A's, 10.0 ms a step "
                       "(95 % interval +"));
  EXPECT_TRUE(
      say_stopped(compare_sentence(compared(launch_of_steps(200, 100), launch_of_steps(200, 90))))
          .starts_with("B is faster: B's steps take 10.0 % less than A's, 10.0 ms a step"));
  EXPECT_TRUE(
      say_stopped(compare_sentence(compared(launch_of_steps(200, 100), launch_of_steps(200, 100))))
          .starts_with("No difference that matters: "));
  EXPECT_TRUE(
      say_stopped(compare_sentence(compared(launch_of_steps(3, 100), launch_of_steps(200, 100))))
          .starts_with("Not enough data: "));
  const std::string open = say_stopped(
      compare_sentence(compared(launch_of_steps(30, 100, 10), launch_of_steps(30, 101, 10))));
  EXPECT_TRUE(open.starts_with("Cannot tell: ")) << open;
  EXPECT_NE(open.find("steps an arm would show a change of 1 %."), std::string::npos) << open;
}

}  // namespace
}  // namespace stepscope
