// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/hang_report.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

// Four ranks of one group.
CommRecords four_ranks() {
  CommRecords records;
  const std::uint32_t g = records.group_keyed("0");
  records.groups[g].id = "0";
  records.groups[g].name = "default_pg";
  for (int r = 0; r < 4; ++r) records.rank_numbered(r);
  return records;
}

HangFinding finding(HangKind kind) {
  HangFinding f;
  f.kind = kind;
  f.sequence = 57;
  f.ranks = {3};
  f.others = {0, 1, 2};
  f.call = HangCall{.name = "all_reduce", .sizes = "[[4]]", .types = "Float"};
  f.instead = HangCall{.name = "all_gather", .sizes = "[[5]]", .types = "Half"};
  return f;
}

std::string words(const HangFinding& f) { return finding_in_words({.records = four_ranks()}, f); }

TEST(HangReport, SaysEachKindInOneSentence) {
  EXPECT_EQ(words(finding(HangKind::missing)),
            "rank 3 is missing in all_reduce 57 of default_pg, where ranks 0, 1, 2 wait");
  EXPECT_EQ(words(finding(HangKind::operation)),
            "rank 3 calls all_gather 57 in default_pg where ranks 0, 1, 2 call all_reduce");
  EXPECT_EQ(words(finding(HangKind::size)),
            "rank 3 calls all_reduce 57 of default_pg with [[5]], ranks 0, 1, 2 with [[4]]");
  EXPECT_EQ(words(finding(HangKind::type)),
            "rank 3 calls all_reduce 57 of default_pg with Half, ranks 0, 1, 2 with Float");
  EXPECT_EQ(words(finding(HangKind::argument)),
            "rank 3 calls all_gather 57 of default_pg, ranks 0, 1, 2 all_reduce");
  EXPECT_EQ(words(finding(HangKind::order)),
            "rank 3 calls all_gather 57 before all_reduce in default_pg, ranks 0, 1, 2 the other "
            "way round");
  EXPECT_EQ(words(finding(HangKind::left_out)),
            "rank 3 leaves out all_reduce 57 of default_pg, which ranks 0, 1, 2 call");
  EXPECT_EQ(words(finding(HangKind::additional)),
            "rank 3 calls all_gather 57 in default_pg, which ranks 0, 1, 2 do not call there");
  EXPECT_EQ(words(finding(HangKind::not_finished)),
            "rank 3 does not finish all_reduce 57 of default_pg, ranks 0, 1, 2 did");
  EXPECT_EQ(words(finding(HangKind::timeout)),
            "the watchdog of rank 3 gave up on all_reduce 57 of default_pg, and nothing tells why");
  HangFinding alone = finding(HangKind::no_record);
  alone.ranks.clear();
  alone.unrecorded = {7};
  EXPECT_EQ(words(alone),
            "ranks 0, 1, 2 wait in all_reduce 57 of default_pg, and of rank 7 nothing is recorded");
  HangFinding pair = finding(HangKind::unpaired);
  pair.others = {0};
  pair.call->name = "send";
  EXPECT_EQ(words(pair),
            "rank 0 waits in send 57 of default_pg for rank 3, which does not receive it");
}

TEST(HangReport, OpensWithTheCauseAndSaysWhatFollows) {
  HangResult result{.records = four_ranks()};
  HangAccount& account = result.account;
  account.calls = 9;
  account.findings = {finding(HangKind::missing), finding(HangKind::missing)};
  account.findings[1].follows = 0;
  EXPECT_EQ(hang_sentence(result),
            "Rank 3 is missing in all_reduce 57 of default_pg, where ranks 0, 1, 2 wait.");
  const std::string text = hang_text(result, {.width = 200});
  EXPECT_NE(text.find("1. Rank 3 is missing"), std::string::npos) << text;
  EXPECT_NE(text.find("That follows from finding 1."), std::string::npos) << text;
  account.findings.clear();
  EXPECT_EQ(hang_sentence(result),
            "Nothing stands still in what is recorded: every rank has every call.");
  account.calls = 0;
  EXPECT_EQ(hang_sentence(result), "No calls are recorded: nothing can be said of a hang.");
}

}  // namespace
}  // namespace stepscope
