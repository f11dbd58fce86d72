// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/stacks/stacks_sentence.h"

#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace stepscope
