// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/hang/hang_account.h"

#include <gtest/gtest.h>

#include "stepscope/event/name_rules.h"

namespace stepscope {
namespace {

// A record of ranks 0 … n-1, written call by call.
class Record {
 public:
  std::uint32_t group(std::vector<int> members) {
    const std::uint32_t at = records_.group_keyed(std::to_string(records_.groups.size()));
    records_.groups[at].id = std::to_string(at);
    records_.groups[at].size = static_cast<int>(members.size());
    for (const int m : members) {
      records_.ranks[records_.rank_numbered(m)].has_dump = true;
      (void)records_.sequence_of(at, records_.rank_numbered(m));
    }
    records_.groups[at].members = std::move(members);
    records_.groups[at].members_recorded = true;
    return at;
  }
  CommCall& call(std::uint32_t group, int rank, const char* name, std::int64_t in,
                 CallState state = CallState::completed, int peer = -1) {
    CommSequence& s = records_.sequence_of(group, records_.rank_numbered(rank));
    CommCall c;
    c.name = records_.strings.intern(name);
    c.kind = collective_kind(std::string("nccl:") + name);
    c.in_elements = in;
    c.out_elements = in;
    c.state = state;
    c.peer = peer;
    c.position = position_[rank]++;
    std::vector<CommCall>& list = peer >= 0 ? s.pairs : s.collectives;
    c.sequence = static_cast<std::int64_t>(list.size()) + 1;
    list.push_back(c);
    return list.back();
  }
  [[nodiscard]] HangAccount found() const { return find_hang(records_); }
  CommRecords& records() { return records_; }

 private:
  CommRecords records_;
  std::map<int, std::uint32_t> position_;
};

constexpr CallState started = CallState::started;
constexpr CallState scheduled = CallState::scheduled;

CommCall of(CollectiveKind kind, std::int64_t in, std::int64_t out) {
  CommCall c;
  c.kind = kind;
  c.in_elements = in;
  c.out_elements = out;
  return c;
}

TEST(CallMatch, ComparesTheSideThatAllRanksShare) {
  using enum CollectiveKind;
  const auto differ = [](const CommCall& a, const CommCall& b) { return difference(a, b); };
  EXPECT_EQ(differ(of(all_reduce, 4, 4), of(all_reduce, 4, 4)), std::nullopt);
  EXPECT_EQ(differ(of(all_reduce, 4, 4), of(all_reduce, 5, 5)), HangKind::size);
  EXPECT_EQ(differ(of(all_reduce, 4, 4), of(all_gather, 4, 4)), HangKind::operation);
  EXPECT_EQ(differ(of(all_gather, 4, 9), of(all_gather, 5, 9)), std::nullopt);  // uneven
  EXPECT_EQ(differ(of(all_gather, 4, 8), of(all_gather, 4, 10)), HangKind::size);
  EXPECT_EQ(differ(of(reduce_scatter, 9, 4), of(reduce_scatter, 9, 5)), std::nullopt);
  EXPECT_EQ(differ(of(reduce_scatter, 9, 4), of(reduce_scatter, 8, 4)), HangKind::size);
  EXPECT_EQ(differ(of(scatter, 8, 2), of(scatter, 0, 2)), std::nullopt);
  EXPECT_EQ(differ(of(scatter, 8, 2), of(scatter, 0, 3)), HangKind::size);
  EXPECT_EQ(differ(of(gather, 2, 8), of(gather, 2, 0)), std::nullopt);
  EXPECT_EQ(differ(of(gather, 2, 8), of(gather, 3, 0)), HangKind::size);
  EXPECT_EQ(differ(of(all_to_all, 2, 8), of(all_to_all, 3, 1)), std::nullopt);
  EXPECT_EQ(differ(of(broadcast, 7, -1), of(broadcast, 8, -1)), HangKind::size);
  CommCall half = of(all_reduce, 4, 4);
  CommCall whole = half;
  half.in_types = StringId{1};
  whole.in_types = StringId{2};
  EXPECT_EQ(difference(half, whole), HangKind::type);
  whole.in_types = half.in_types;
  whole.arguments = StringId{3};
  EXPECT_EQ(difference(half, whole), HangKind::argument);
}

TEST(CallMatch, TellsWhatARankDidOtherwise) {
  using enum CollectiveKind;
  const CommCall a = of(all_reduce, 1, 1);
  const CommCall b = of(all_gather, 2, 4);
  const CommCall c = of(broadcast, 3, 3);
  const CommCall d = of(reduce_scatter, 4, 2);
  const CommCall a2 = of(all_reduce, 9, 9);
  const auto kind = [](const std::vector<CommCall>& mine, const std::vector<CommCall>& theirs) {
    return deviation(mine, theirs).kind;
  };
  EXPECT_EQ(kind({b, a, c}, {a, b, c}), HangKind::order);
  EXPECT_EQ(kind({b, a}, {a, b}), HangKind::order);
  EXPECT_EQ(kind({b, c, d}, {a, b, c, d}), HangKind::left_out);
  EXPECT_EQ(kind({b, a, b}, {a, b, a, b}), HangKind::left_out);
  EXPECT_EQ(kind({d, a, b, c}, {a, b, c}), HangKind::additional);
  EXPECT_EQ(kind({a2, b}, {a, b}), HangKind::size);
  EXPECT_EQ(kind({a2}, {a}), HangKind::size);
  EXPECT_EQ(kind({b}, {a}), HangKind::operation);
  const Deviation early = deviation(std::vector<CommCall>{b}, std::vector<CommCall>{a, b});
  EXPECT_EQ(early.kind, HangKind::operation);
  EXPECT_TRUE(early.next_of_others);
}

TEST(Hang, NamesAnAbsenceBeforeACallThatNoDeviceHasBegun) {
  Record job;
  const std::uint32_t tensor = job.group({0, 1});
  const std::uint32_t expert = job.group({2, 3, 4});
  for (const int rank : {0, 1}) job.call(tensor, rank, "all_gather", 4, scheduled);
  for (const int rank : {3, 4}) job.call(expert, rank, "all_to_all", 4, scheduled);
  const HangAccount found = job.found();
  ASSERT_EQ(found.findings.size(), 2U);
  EXPECT_EQ(found.findings[0].kind, HangKind::missing);
  EXPECT_EQ(found.findings[1].kind, HangKind::not_finished);
  EXPECT_FALSE(found.findings[1].follows.has_value());
}

TEST(Hang, NamesTheRankThatDidNotCome) {
  Record record;
  const std::uint32_t g = record.group({0, 1, 2});
  for (const int r : {0, 1, 2}) record.call(g, r, "all_reduce", 4);
  for (const int r : {0, 2}) record.call(g, r, "all_gather", 4, started);
  const HangAccount result = record.found();
  ASSERT_EQ(result.findings.size(), 1U);
  const HangFinding& f = result.findings[0];
  EXPECT_EQ(f.kind, HangKind::missing);
  EXPECT_EQ(f.sequence, 2);
  EXPECT_EQ(f.ranks, (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(f.others, (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(f.call->name, "all_gather");
  EXPECT_EQ(f.instead->name, "all_reduce");
  EXPECT_EQ(result.groups[0].all_reached, 1);
  EXPECT_EQ(result.groups[0].furthest, 2);
}

TEST(Hang, IsNoneWhereTheOthersHaveFinishedTheCall) {
  Record record;
  const std::uint32_t g = record.group({0, 1});
  for (const int r : {0, 1}) record.call(g, r, "all_reduce", 4);
  record.call(g, 0, "broadcast", 4);  // its root waits for nobody
  EXPECT_TRUE(record.found().findings.empty());
}

TEST(Hang, NamesTheFewWhoDisagree) {
  Record record;
  const std::uint32_t g = record.group({0, 1, 2, 3});
  for (const int r : {0, 1, 2, 3}) record.call(g, r, "all_reduce", r == 2 ? 5 : 4, started);
  for (const int r : {0, 1, 2, 3}) record.call(g, r, "all_gather", 4, scheduled);
  const HangAccount result = record.found();
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_EQ(result.findings[0].kind, HangKind::size);
  EXPECT_EQ(result.findings[0].ranks, (std::vector<std::uint32_t>{2}));
  EXPECT_EQ(result.findings[0].instead->sizes, "5 elements");
  EXPECT_FALSE(result.findings[0].tied);
}

TEST(Hang, SaysWhereAsManyCallTheOneAsTheOther) {
  Record record;
  const std::uint32_t g = record.group({0, 1});
  record.call(g, 0, "all_reduce", 4, started);
  record.call(g, 1, "barrier", 0, started);
  const HangAccount result = record.found();
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_EQ(result.findings[0].kind, HangKind::operation);
  EXPECT_TRUE(result.findings[0].tied);
}

TEST(Hang, SuspectsWhoeverLeftNoRecord) {
  Record record;
  const std::uint32_t g = record.group({0, 1});
  record.records().groups[g].members = {0, 1, 2};
  for (const int r : {0, 1}) record.call(g, r, "all_reduce", 4, started);
  const HangAccount result = record.found();
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_EQ(result.findings[0].kind, HangKind::no_record);
  EXPECT_EQ(result.findings[0].unrecorded, std::vector<int>{2});
}

TEST(Hang, SaysThatAllHaveComeAndNoneFinishes) {
  Record record;
  const std::uint32_t g = record.group({0, 1});
  for (const int r : {0, 1}) record.call(g, r, "all_reduce", 4);
  for (const int r : {0, 1}) record.call(g, r, "all_gather", 4, started);
  for (const int r : {0, 1}) record.call(g, r, "all_reduce", 4, scheduled);
  const HangAccount result = record.found();
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_EQ(result.findings[0].kind, HangKind::not_finished);
  EXPECT_EQ(result.findings[0].sequence, 2);
  EXPECT_EQ(result.findings[0].ranks.size(), 2U);
  EXPECT_EQ(result.findings[0].call->name, "all_gather");
}

TEST(Hang, PutsTheCauseBeforeWhatFollows) {
  Record record;
  const std::uint32_t all = record.group({0, 1, 2, 3});
  const std::uint32_t pair = record.group({2, 3});
  record.call(pair, 2, "all_reduce", 4, started);  // 3 is missing
  for (const int r : {0, 1}) record.call(all, r, "all_gather", 4, started);
  const HangAccount result = record.found();
  ASSERT_EQ(result.findings.size(), 2U);
  EXPECT_EQ(result.findings[0].group, pair);
  EXPECT_EQ(result.findings[0].ranks, (std::vector<std::uint32_t>{3}));
  EXPECT_FALSE(result.findings[0].follows);
  EXPECT_EQ(result.findings[1].follows, 0U);
}

TEST(Hang, SeesRanksThatWaitForEachOther) {
  Record record;
  const std::uint32_t a = record.group({0, 1});
  const std::uint32_t b = record.group({0, 1});
  record.call(a, 0, "all_reduce", 4, started);
  record.call(b, 1, "all_reduce", 4, started);
  const HangAccount result = record.found();
  ASSERT_EQ(result.findings.size(), 2U);
  EXPECT_TRUE(result.findings[0].circular);
  EXPECT_TRUE(result.findings[1].circular);
}

TEST(Hang, FindsSendsThatNobodyReceives) {
  Record record;
  const std::uint32_t g = record.group({4, 5, 6});
  record.call(g, 4, "send", 8, started, 1);
  record.call(g, 5, "recv", 8, started, 0);
  record.call(g, 5, "send", 3, started, 2);
  record.call(g, 6, "recv", 4, started, 1);
  record.call(g, 6, "recv", 4, started, 0);
  const HangAccount result = record.found();
  ASSERT_EQ(result.findings.size(), 2U);
  EXPECT_EQ(result.findings[0].kind, HangKind::unpaired);  // 6 receives from 4
  EXPECT_EQ(result.findings[0].ranks, (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(result.findings[0].others, (std::vector<std::uint32_t>{2}));
  EXPECT_EQ(result.findings[1].kind, HangKind::pair_size);
  EXPECT_EQ(result.findings[1].call->sizes, "3 elements");
  EXPECT_EQ(result.findings[1].instead->sizes, "4 elements");
}

TEST(Hang, SumsAllToAllsOverTheirRanks) {
  Record record;
  const std::uint32_t g = record.group({0, 1});
  record.call(g, 0, "all_to_all", 6, started).out_elements = 4;
  record.call(g, 1, "all_to_all", 2, started).out_elements = 4;
  HangAccount result = record.found();
  ASSERT_EQ(result.findings.size(), 1U);  // as much sent as received: only not finished
  EXPECT_EQ(result.findings[0].kind, HangKind::not_finished);
  record.records().sequence_of(g, 1).collectives[0].out_elements = 5;
  result = record.found();
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_EQ(result.findings[0].kind, HangKind::size);
  EXPECT_TRUE(result.findings[0].ranks.empty());
}

TEST(Hang, ReadsWatchdogsByTheLastNumberOfEachRank) {
  Record record;
  const std::uint32_t g = record.group({0, 1, 2});
  for (const int r : {0, 1, 2}) {
    CommSequence& s = record.records().sequence_of(g, record.records().rank_numbered(r));
    s.watchdog_only = true;
    s.status = GroupStatus{.enqueued = r == 0 ? 77 : 79, .started = -1, .completed = 77};
    if (r == 1) {
      record.call(g, r, "broadcast", 80, started).sequence = 78;
      record.records().timeouts.push_back(
          {.rank = 1, .group = g, .sequence = 78, .operation = "BROADCAST"});
    }
  }
  const HangAccount result = record.found();
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_EQ(result.findings[0].kind, HangKind::missing);
  EXPECT_EQ(result.findings[0].sequence, 78);
  EXPECT_EQ(result.findings[0].ranks, (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(result.findings[0].others, (std::vector<std::uint32_t>{1, 2}));
}

TEST(Hang, KeepsATimeoutThatNothingExplains) {
  Record record;
  const std::uint32_t g = record.group({0, 1});
  for (const int r : {0, 1}) record.call(g, r, "all_reduce", 4);
  record.records().timeouts.push_back(
      {.rank = 1, .group = g, .sequence = 9, .operation = "ALLREDUCE"});
  const HangAccount result = record.found();
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_EQ(result.findings[0].kind, HangKind::timeout);
  EXPECT_EQ(result.findings[0].call->name, "ALLREDUCE");
}

TEST(LastCalls, AreTheLatestOverAllGroupsAndKinds) {
  CommRecords records;
  records.rank_numbered(0);
  records.rank_numbered(1);
  const std::uint32_t a = records.group_keyed("a");
  const std::uint32_t b = records.group_keyed("b");
  records.sequence_of(a, 0).collectives = {{.sequence = 1, .position = 0},
                                           {.sequence = 2, .position = 3}};
  records.sequence_of(a, 0).pairs = {{.sequence = 7, .position = 1}};
  records.sequence_of(b, 0).collectives = {{.sequence = 9, .position = 2}};
  const auto calls = last_calls(records);
  ASSERT_EQ(calls.size(), 1U);  // rank 1 has no call
  EXPECT_EQ(calls[0].rank, 0U);
  EXPECT_EQ(calls[0].calls, 4U);
  EXPECT_EQ(calls[0].group, a);
  EXPECT_EQ(calls[0].call.sequence, 2);
}

CommCall fingerprint(CommRecords& records, const char* name, std::int64_t sequence,
                     std::int64_t elements) {
  CommCall c;
  c.name = records.strings.intern(name);
  c.kind = collective_kind(std::string("nccl:") + name);
  c.sequence = sequence;
  c.in_elements = elements;
  return c;
}

TEST(Hang, NamesTheRankWhoseComparedCallDiffers) {
  CommRecords records;
  records.groups[records.group_keyed(compared_group)].unnamed = true;
  const CommCall most = fingerprint(records, "ALLREDUCE", 9, 4);
  const CommCall odd = fingerprint(records, "ALLREDUCE", 9, 6);
  for (const int rank : {1, 2, 3})
    records.compared.push_back({.rank = rank, .call = most, .other = 0, .instead = odd});
  HangAccount result = find_hang(records);
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_EQ(result.findings[0].kind, HangKind::size);
  EXPECT_EQ(result.findings[0].numbers, (std::vector<int>{0}));
  EXPECT_EQ(result.findings[0].other_numbers, (std::vector<int>{1, 2, 3}));
  records.compared = {{.rank = 1,
                       .call = fingerprint(records, "ALLREDUCE", 12, 4),
                       .other = 0,
                       .instead = fingerprint(records, "ALLREDUCE", 9, 4)}};
  result = find_hang(records);
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_EQ(result.findings[0].kind, HangKind::number);
}

TEST(Hang, SaysNothingOfAllRanksWhereTheSizeIsNotKnown) {
  CommRecords records;
  const std::uint32_t g = records.group_keyed("w");
  records.groups[g].places = {{0, 0}, {1, 1}};
  records.groups[g].members = {0, 1};
  for (const int rank : {0, 1}) {
    CommSequence& s = records.sequence_of(g, records.rank_numbered(rank));
    s.watchdog_only = true;
    CommCall c = fingerprint(records, "ALLREDUCE", 9, 4);
    c.state = CallState::started;
    s.collectives.push_back(c);
  }
  HangAccount result = find_hang(records);
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_EQ(result.findings[0].kind, HangKind::waiting);
  EXPECT_EQ(result.findings[0].others.size(), 2U);
  records.groups[g].size = 2;
  EXPECT_EQ(find_hang(records).findings[0].kind, HangKind::not_finished);
  records.groups[g].members = {0, 1, 2};
  result = find_hang(records);
  EXPECT_EQ(result.findings[0].kind, HangKind::no_record);
  EXPECT_EQ(result.findings[0].unrecorded, (std::vector<int>{2}));
}

TEST(Hang, ARankWhoseWatchdogWritesOnlyNumbersWaitsInTheCallAfterItsLast) {
  CommRecords records;
  const std::uint32_t g = records.group_keyed("w");
  records.groups[g].places = {{1, 1}, {2, 2}};
  records.groups[g].members = {0, 1, 2};
  CommSequence& calls = records.sequence_of(g, records.rank_numbered(1));
  calls.watchdog_only = true;
  CommCall c = fingerprint(records, "ALLREDUCE", 9, 4);
  c.state = CallState::started;
  calls.collectives.push_back(c);
  CommSequence& numbers = records.sequence_of(g, records.rank_numbered(2));
  numbers.watchdog_only = true;
  numbers.status = GroupStatus{.enqueued = 11, .started = -1, .completed = 8};
  HangAccount result = find_hang(records);
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_EQ(result.findings[0].kind, HangKind::no_record);
  EXPECT_EQ(result.findings[0].others.size(), 2U);
  records.sequence_of(g, records.rank_numbered(2)).status->completed = 10;
  EXPECT_EQ(find_hang(records).findings[0].others.size(), 1U) << "it has passed the call";
}

}  // namespace
}  // namespace stepscope
