// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/outputs.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(Outputs, AFilesNameDoesNotSteerTheTerminal) {
  Failures failures;
  testing::internal::CaptureStderr();
  failures.add({.what = "this is no JSON", .file = "a\033]0;title\007.json"});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(failures.any());
  EXPECT_EQ(said.find('\033'), std::string::npos) << said;
  EXPECT_NE(said.find(".json: this is no JSON"), std::string::npos) << said;
  EXPECT_TRUE(said.ends_with('\n'));
}

}  // namespace
}  // namespace stepscope
