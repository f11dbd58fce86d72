// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/compare_text.h"

#include <gtest/gtest.h>

#include <string>

#include "stepscope/diagnose/warnings.h"
#include "stepscope/report/sentences/verb_test_results.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

using namespace test;

TEST(CompareText, PartsAndWarningsAreShown) {
  Comparison c = slower_with_parts();
  c.warnings = compare_warnings(c.runs);
  const std::string text = compare_text(c);
  EXPECT_NE(text.find("What changed in a step (B - A, mean a step; * q < 0.05: 1 of 1):"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("+8.00 ms"), std::string::npos) << text;
  EXPECT_NE(text.find("note: one launch an arm"), std::string::npos) << text;
}

}  // namespace
}  // namespace stepscope
