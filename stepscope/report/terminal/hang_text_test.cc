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

LoggedCommunicator ring_of(int ranks) {
  LoggedCommunicator c{.ranks = ranks};
  for (int i = 0; i < ranks; ++i) {
    c.ring_hops[0][i] = (i + 1) % ranks;
    const std::string down = i + 1 < ranks ? std::to_string(i + 1) : "-1";
    c.members.push_back(
        {.rank = i,
         .trees = "[0] " + down + "/-1/-1->" + std::to_string(i) + "->" + std::to_string(i - 1)});
  }
  c.ring_hops[1] = c.ring_hops[0];
  return c;
}

TEST(HangText, ShowsRingsAndTreesOnceForEqualCommunicators) {
  HangResult result;
  auto& all = result.records.nccl.communicators;
  all = {ring_of(1), ring_of(3), ring_of(3)};
  std::string text = hang_text(result, {.width = 100});
  for (const char* line :
       {"\nRings of 2 communicators of 3 ranks: 2 channels, 1 distinct order\n"
        "  channels 0–1: 0 → 1 → 2 → 0\n",
        "\nTrees of 2 communicators of 3 ranks: 1 channel, 1 distinct shape\n"
        "  channel 0:\n    0: up -, down 1\n    1: up 0, down 2\n    2: up 1, down -\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  EXPECT_EQ(text.find("of 1 rank"), std::string::npos) << text;
  all = {ring_of(1000)};
  text = hang_text(result, {.width = 400});
  EXPECT_NE(text.find("(1000 ranks; --json has all)"), std::string::npos) << text;
  EXPECT_NE(text.find("and 984 more ranks (--json has all)"), std::string::npos) << text;
  all[0].ring_hops.clear();
  all[0].rings = {{0, "0 1 2"}};
  all[0].rings[1] = "0 0";
  all[0].members.resize(2);
  text = hang_text(result, {.width = 100});
  EXPECT_NE(text.find("0 → 1 → 2 (the log has 3 of 1000 ranks)"), std::string::npos) << text;
  EXPECT_NE(text.find("The ring of 1 channel of the communicator of 1000 ranks is not known"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  channel 0: (the log has 2 of 1000 ranks)\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace stepscope
