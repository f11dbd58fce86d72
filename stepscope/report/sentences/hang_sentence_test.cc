// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/sentences/hang_sentence.h"

#include <gtest/gtest.h>

#include <string>

#include "stepscope/report/sentences/verb_test_results.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

using namespace test;

std::string words(const HangFinding& f) {
  return say(finding_in_words({.records = four_ranks()}, f));
}

TEST(HangSentence, SaysEachKindInOneSentence) {
  EXPECT_EQ(words(hang_finding(HangKind::missing)),
            "rank 3 is missing in all_reduce 57 of default_pg, where ranks 0, 1, 2 wait");
  EXPECT_EQ(words(hang_finding(HangKind::operation)),
            "rank 3 calls all_gather 57 in default_pg where ranks 0, 1, 2 call all_reduce");
  EXPECT_EQ(words(hang_finding(HangKind::size)),
            "rank 3 calls all_reduce 57 of default_pg with [[5]], ranks 0, 1, 2 with [[4]]");
  EXPECT_EQ(words(hang_finding(HangKind::type)),
            "rank 3 calls all_reduce 57 of default_pg with Half, ranks 0, 1, 2 with Float");
  EXPECT_EQ(words(hang_finding(HangKind::argument)),
            "rank 3 calls all_gather 57 of default_pg, ranks 0, 1, 2 all_reduce");
  EXPECT_EQ(words(hang_finding(HangKind::order)),
            "rank 3 calls all_gather 57 before all_reduce in default_pg, ranks 0, 1, 2 the other "
            "way round");
  EXPECT_EQ(words(hang_finding(HangKind::left_out)),
            "rank 3 leaves out all_reduce 57 of default_pg, which ranks 0, 1, 2 call");
  EXPECT_EQ(words(hang_finding(HangKind::additional)),
            "rank 3 calls all_gather 57 in default_pg, which ranks 0, 1, 2 do not call there");
  EXPECT_EQ(words(hang_finding(HangKind::not_finished)),
            "rank 3 does not finish all_reduce 57 of default_pg, ranks 0, 1, 2 did");
  EXPECT_EQ(words(hang_finding(HangKind::timeout)),
            "the watchdog of rank 3 gave up on all_reduce 57 of default_pg, and nothing tells why");
  HangFinding alone = hang_finding(HangKind::no_record);
  alone.ranks.clear();
  alone.unrecorded = {7};
  EXPECT_EQ(words(alone),
            "ranks 0, 1, 2 wait in all_reduce 57 of default_pg, and of rank 7 nothing is recorded");
  HangFinding pair = hang_finding(HangKind::unpaired);
  pair.others = {0};
  pair.call->name = "send";
  EXPECT_EQ(words(pair),
            "rank 0 waits in send 57 of default_pg for rank 3, which does not receive it");
}

TEST(HangSentence, OpensWithTheCause) {
  HangResult result{.records = four_ranks()};
  HangAccount& account = result.account;
  account.calls = 9;
  account.findings = {hang_finding(HangKind::missing), hang_finding(HangKind::missing)};
  account.findings[1].follows = 0;
  EXPECT_EQ(say_stopped(hang_sentence(result)),
            "Rank 3 is missing in all_reduce 57 of default_pg, where ranks 0, 1, 2 wait.");
  account.findings.clear();
  EXPECT_EQ(say_stopped(hang_sentence(result)),
            "Nothing stands still in what is recorded: every rank has every call.");
  account.groups = {{.group = 0, .size = 6, .recorded = 4}};
  EXPECT_EQ(say_stopped(hang_sentence(result)),
            "Nothing stands still in what is recorded, but 4 of the 6 ranks of default_pg are "
            "recorded: give the records of every rank.");
  result.records.groups[0].members = {0, 1, 2, 3, 4, 5};
  result.records.groups[0].members_recorded = true;
  EXPECT_EQ(say_stopped(hang_sentence(result)),
            "Nothing stands still in what is recorded, but ranks 4, 5 are not recorded: give the "
            "records of every rank.");
  account.calls = 0;
  EXPECT_EQ(say_stopped(hang_sentence(result)),
            "No calls are recorded: nothing can be said of a hang.");
}

}  // namespace
}  // namespace stepscope
