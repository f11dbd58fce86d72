// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/stacks/stacks_sentence.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "stepscope/base/scratch_test_folder.h"
#include "stepscope/say/say.h"
#include "stepscope/verbs/stacks/stacks_test_results.h"

namespace stepscope {
namespace {

using namespace test;

TEST(StacksSentence, SaysWhetherTheDeviceIdlesMeanwhile) {
  const StacksBeside lost(waiting_thread, 40, 88);
  EXPECT_NE(say_stopped(stacks_sentence(lost.report))
                .find("While main is in wait for the GIL the device is idle for 96.0 % of it, so "
                      "that time is lost to it as well."),
            std::string::npos)
      << say_stopped(stacks_sentence(lost.report));
  const StacksBeside kept(waiting_thread, 0, 10);
  EXPECT_NE(say(stacks_sentence(kept.report)).find("so standing there costs little"),
            std::string::npos);
}

std::string sentence_of_profile(const std::string& text) {
  static const Folder folder;
  const std::string path = (folder.path / "few.collapsed").string();
  std::ofstream(path) << text;
  const auto result = stacks({.profiles = {path}});
  return result ? say_stopped(stacks_sentence(*result)) : result.error().message();
}

TEST(StacksSentence, FewSamplesAreCounted) {
  EXPECT_EQ(sentence_of_profile("T;train;take_gil 2\nT;train;wait (threading.py) 3\n"),
            "all threads: busy in 2 of 5 samples, 2 of these in wait for the GIL.");
  EXPECT_EQ(sentence_of_profile("T;train;take_gil 2\n"),
            "all threads: 2 of 2 samples in wait for the GIL.");
  EXPECT_EQ(sentence_of_profile("T;train;take_gil 20\nT;train;wait (threading.py) 30\n"),
            "all threads: busy 40.0 % of the time, 100.0 % of that in wait for the GIL.");
}

}  // namespace
}  // namespace stepscope
