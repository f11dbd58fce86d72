// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/hang_text.h"

#include <gtest/gtest.h>

#include <string>

#include "stepscope/report/sentences/verb_test_results.h"

namespace stepscope {
namespace {

using namespace test;

TEST(HangText, SaysWhatFollowsFromTheCause) {
  HangResult result{.records = four_ranks()};
  HangAccount& account = result.account;
  account.calls = 9;
  account.findings = {hang_finding(HangKind::missing), hang_finding(HangKind::missing)};
  account.findings[1].follows = 0;
  const std::string text = hang_text(result, {.width = 200});
  EXPECT_NE(text.find("1. Rank 3 is missing"), std::string::npos) << text;
  EXPECT_NE(text.find("That follows from finding 1."), std::string::npos) << text;
}

}  // namespace
}  // namespace stepscope
