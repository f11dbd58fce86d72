// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/check/log_views.h"

#include <gtest/gtest.h>

#include <string>

#include "stepscope/diagnose/judged_test_results.h"

namespace stepscope {

namespace {

using namespace test;

TEST(LogJson, HasBothEndsOfADrift) {
  MadeLog made;
  made.account.changes.clear();
  made.account.drift = Drift{.first = 470e6, .last = 660e6, .p = 1e-9};
  EXPECT_DOUBLE_EQ(log_tree(made.report())["drift"]["last_ns"].get<double>(), 660e6);
}

TEST(LogJson, AbsentFiguresAreNull) {
  const MadeLog made;
  const Json tree = log_tree(made.report());
  EXPECT_EQ(tree["steps_from"], "megatron");
  EXPECT_TRUE(tree["model"].is_null());
  EXPECT_TRUE(tree["rates"][0]["value"].is_null());
  EXPECT_DOUBLE_EQ(tree["rates"][0]["printed"].get<double>(), 412);
  EXPECT_TRUE(tree["memory_share"].is_null());
  EXPECT_DOUBLE_EQ(tree["communication"][0]["algbw_gb_per_s"].get<double>(), 100);
  EXPECT_EQ(tree["changes"][0]["iteration"], 310);
  EXPECT_TRUE(tree["drift"].is_null());
}

using namespace test;

TEST(LogText, SaysWhatTheLogTells) {
  const MadeLog made;
  const std::string text = log_text(made.report(), {.width = 100});
  for (const char* part :
       {"Log of Megatron-LM (60 lines). Step times: Megatron-LM, elapsed time per iteration, means "
        "of",
        "step 10 to 600; rank 7.", "tokens/s", "a device of 8", "Megatron-LM prints 412 TFLOP/s",
        "9.5 to 3.6, least 3.6 at step 600", "20.0 GB at most", "slowest      step ",
        "from step 310 on 551 ms instead of", "optimizer", "1600", "100", "175"})
    EXPECT_NE(text.find(part), std::string::npos) << part << '\n' << text;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    EXPECT_LE(end - begin, 180U) << text.substr(begin, end - begin);
    begin = end + 1;
  }
}

TEST(LogText, SaysThatTheStepDrifts) {
  MadeLog made;
  made.account.changes.clear();
  made.account.drift = Drift{.first = 470e6, .last = 660e6, .p = 1e-9};
  EXPECT_NE(log_text(made.report(), {.width = 100}).find("470 ms to 660 ms from end to end"),
            std::string::npos);
}

}  // namespace

}  // namespace stepscope
