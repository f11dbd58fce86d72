// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/hang/hang_views.h"

#include <gtest/gtest.h>

#include <string>

#include "stepscope/say/say.h"
#include "stepscope/verbs/hang/hang_test_results.h"
#include "stepscope/verbs/hang/hang_words.h"

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

TEST(HangSentence, CountsTheFindingsThatFollowFromNoOther) {
  HangResult r{.records = four_ranks()};
  for (int i = 0; i < 4; ++i) r.account.findings.push_back(hang_finding(HangKind::missing));
  for (const std::size_t consequence : {2U, 3U}) r.account.findings[consequence].follows = 0;
  EXPECT_NE(say(hang_sentence(r)).find("1 more finding has a cause of its own"), std::string::npos);
}

TEST(HangSentence, NamesTheRanksThatWroteNothing) {
  HangResult r{.records = four_ranks()};
  HangFinding f = hang_finding(HangKind::no_record);
  f.unrecorded = {7};
  r.records.groups[0].places = {{0, 0}};
  r.records.groups[0].unnamed = true;
  EXPECT_EQ(say(finding_in_words(r, f)),
            "ranks 0, 1, 2 wait in all_reduce 57, and rank 7 wrote nothing: it is missing, or its "
            "log is; "
            "look there first");
  r.records.incident.last_lines[7] = {};
  EXPECT_EQ(
      say(finding_in_words(r, f)),
      "ranks 0, 1, 2 wait in all_reduce 57, and rank 7 wrote no timeout: it did not come, or was "
      "stopped before; look there first");
  f = hang_finding(HangKind::waiting);
  EXPECT_EQ(say(finding_in_words(r, f)),
            "ranks 0, 1, 2 wait in all_reduce 57, and no file tells which ranks they wait for: "
            "give the logs of all ranks");
  r.records.groups[0].guessed = true;
  EXPECT_EQ(say(finding_in_words(r, hang_finding(HangKind::missing))),
            "if these calls are of one group, which no line tells, rank 3 is missing in all_reduce "
            "57, where "
            "ranks 0, 1, 2 wait");
}

TEST(HangSentence, KeepsRanksApartThatWroteNothingAndThatWroteNoTimeout) {
  HangResult r{.records = four_ranks()};
  HangFinding f = hang_finding(HangKind::no_record);
  f.unrecorded = {5, 6, 7};
  r.records.groups[0].places = {{0, 0}};
  r.records.groups[0].unnamed = true;
  r.records.incident.last_lines[7] = {.text = "step 3"};
  EXPECT_EQ(
      say(finding_in_words(r, f)),
      "ranks 0, 1, 2 wait in all_reduce 57, ranks 5 and 6 wrote nothing (they are missing, or "
      "their logs are), and rank 7 wrote no timeout (it did not come, or was stopped before); "
      "look there first");
  r.records.incident.last_lines[7] = {.text = "[E419 10:42:28.8 ProcessGroupNCCL.cpp"};
  EXPECT_EQ(
      say(finding_in_words(r, f)),
      "ranks 0, 1, 2 wait in all_reduce 57, and ranks 5 and 6 wrote nothing: they are missing, "
      "or their logs are; look there first; the line of the watchdog of rank 7 is cut");
}

TEST(HangSentence, SaysTheWarningOfNcclWhereNothingElseIsKnown) {
  HangResult r;
  r.records.messages = {{.text = "Call to shm_open failed"}, {.text = "x"}};
  EXPECT_EQ(say(hang_sentence(r)), "NCCL warns: Call to shm_open failed (1 more warning)");
}

TEST(HangSentence, NamesAllProcessesOfAnEnd) {
  HangResult r;
  r.records.incident.events = {{.kind = IncidentKind::signal, .pid = 811, .code = 11},
                               {.kind = IncidentKind::signal, .pid = 812, .code = 11}};
  r.incident = account_incident(r.records);
  EXPECT_EQ(say(hang_sentence(r)),
            "Processes 811, 812 were ended by signal 11 (SIGSEGV) (the first error in the files)");
}

TEST(HangSentence, WritesTheNumbersOfALogAsTheLogDoes) {
  HangResult r{.records = four_ranks()};
  r.records.groups[0].from_log = true;
  r.records.groups[0].id = "0x1f";
  EXPECT_EQ(say(finding_in_words(r, hang_finding(HangKind::missing))),
            "rank 3 is missing in all_reduce (opCount 39) of the communicator 0x1f, where ranks 0, "
            "1, 2 wait");
}

TEST(HangSentence, SaysWhatProcessesWaitForAsTheyJoin) {
  HangResult r;
  r.records.inputs.push_back({.path = "a/train.log"});
  r.records.set_up = {
      {.kind = SetUpKind::unique_id, .ranks = {1}, .awaited = 0, .limit = Ns(600'000'000'000)}};
  EXPECT_EQ(
      say(hang_sentence(r)),
      "Rank 1 waits for rank 0 of its group, which did not come to set up NCCL's communicator "
      "within 600 s");
  r.records.incident.last_lines[0] = {.text = "loads"};
  EXPECT_NE(hang_text(r, {.width = 160}).find("The last line of rank 0"), std::string::npos);
  r.records.set_up = {
      {.kind = SetUpKind::store_barrier, .ranks = {5, 7}, .came = 4, .size = 8, .place = "k:3"},
      {.kind = SetUpKind::store_barrier, .ranks = {0}, .came = 8, .size = 4, .place = "k:1"}};
  EXPECT_EQ(
      say(hang_sentence(r)),
      "4 of 8 processes came to the store barrier k:3, where ranks 5, 7 wait; 8 processes "
      "came to the store barrier k:1, which has 4 places: an old store (a file, a port) is in "
      "use, or two jobs share it");
  r.records.set_up = {{.kind = SetUpKind::address, .place = "10.0.0.1:29500"},
                      {.kind = SetUpKind::monitored_barrier, .ranks = {3}, .awaited = 0}};
  EXPECT_EQ(
      say(hang_sentence(r)),
      "A process did not reach 10.0.0.1:29500: the process there has not started or has "
      "ended, MASTER_ADDR or MASTER_PORT is another, or a firewall is between; rank 3 reached "
      "a monitored barrier, and rank 0 of its group did not answer: its log may tell which "
      "ranks did not come");
}

TEST(HangSentence, BeginsWithTheFirstError) {
  HangResult r{.records = four_ranks()};
  r.records.inputs.push_back({.path = "a/train.log"});
  r.records.incident.events = {
      {.kind = IncidentKind::network, .host = "n1", .code = 12, .text = "x"},
      {.kind = IncidentKind::timeout, .rank = 1, .text = "ALLREDUCE 5"}};
  r.incident = account_incident(r.records);
  r.account.findings = {hang_finding(HangKind::missing)};
  EXPECT_EQ(say(hang_sentence(r)).substr(0, 60),
            "Host n1 got InfiniBand status 12: transport retry counter ex");
  const std::string text = hang_text(r, {.width = 160});
  EXPECT_NE(text.find("gave up on ALLREDUCE 5"), std::string::npos) << text;
  EXPECT_NE(text.find("train.log:0"), std::string::npos) << text;
}

TEST(HangSentence, ARankWhoseThreadsAreDumpedIsNotSilentAndAFileKeepsItsName) {
  HangResult r{.records = four_ranks()};
  HangFinding f = hang_finding(HangKind::no_record);
  f.unrecorded = {7};
  r.records.groups[0].places = {{0, 0}};
  r.account.findings = {f};
  r.standing = {{.rank = 7, .name = "rank 7", .label = "collective"}};
  const std::string text = say(hang_sentence(r));
  EXPECT_NE(text.find("rank 7 wrote no timeout"), std::string::npos) << text;
  r.account.findings.clear();
  r.standing = {{.name = "ps.txt", .label = "collective"}};
  EXPECT_EQ(say(hang_sentence(r)), "Process ps.txt is in collective");
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
            "No call is recorded with its communicator and count: nothing can be said of a hang.");
}

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
