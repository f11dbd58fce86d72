// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/checklists.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "stepscope/diagnose/analysis_test_builder.h"
#include "stepscope/fit/expected_collectives.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

using enum BudgetCategory;

ChecklistLine line_of(const std::vector<Checklist>& lists, std::string_view list,
                      std::string_view name) {
  for (const Checklist& l : lists)
    for (const ChecklistLine& line : l.lines)
      if (l.name == list && line.name == name) return line;
  ADD_FAILURE() << list << '.' << name;
  return {};
}

ChecklistResult result_of(const std::vector<Checklist>& lists, std::string_view list,
                          std::string_view name) {
  return line_of(lists, list, name).result;
}

StepFacts facts_with(std::int64_t data, std::int64_t exposed) {
  StepFacts facts;
  for (int rank = 0; rank < 2; ++rank) {
    RankFacts& r = facts.ranks.emplace_back();
    r.rank = rank;
    r.mean[compute] = Ns{100 - data - exposed};
    r.mean[comm_overlapped] = Ns{0};
    r.mean[idle_data] = Ns{data};
    r.mean[comm_exposed_wait] = Ns{exposed};
  }
  return facts;
}

TEST(Checklists, SharesAreJudgedByTheirBounds) {
  const StepFacts good = facts_with(4, 9);
  const StepFacts bad = facts_with(6, 11);
  const auto fine = checklists({.facts = good, .lacking = msg::plain("no trace")});
  const auto look = checklists({.facts = bad, .lacking = msg::plain("no trace")});
  for (const auto& [list, name] :
       std::vector<std::pair<const char*, const char*>>{{"low_mfu", "data_loading"},
                                                        {"communication", "overlap"},
                                                        {"timeline", "sequential_communication"},
                                                        {"timeline", "collective_tails"}}) {
    EXPECT_EQ(result_of(fine, list, name), ChecklistResult::fine) << name;
    EXPECT_EQ(result_of(look, list, name), ChecklistResult::look) << name;
  }
  EXPECT_EQ(say(line_of(look, "timeline", "copies").evidence), "no trace");
}

// What may be waiting is not known to be none.
TEST(Checklists, AShareIsNotJudgedIfTheRestMayBelongToIt) {
  StepFacts facts = facts_with(0, 0);
  for (RankFacts& r : facts.ranks) r.mean[comm_exposed_unsplit] = Ns{54};
  const auto lists = checklists({.facts = facts, .lacking = msg::plain("no trace")});
  const ChecklistLine tails = line_of(lists, "timeline", "collective_tails");
  EXPECT_EQ(tails.result, ChecklistResult::unknown);
  EXPECT_EQ(
      say(tails.evidence),
      "35.1 % of the step is transfer or waiting, which cannot be distinguished: record every "
      "rank");
  for (RankFacts& r : facts.ranks) {
    r.mean[comm_exposed_wait] = Ns{100};
    r.mean[not_recorded] = Ns{100};
  }
  const auto more = checklists({.facts = facts, .lacking = msg::plain("no trace")});
  EXPECT_EQ(result_of(more, "timeline", "collective_tails"), ChecklistResult::look);
  for (const char* name : {"python_overhead", "data_loading"})
    EXPECT_EQ(result_of(more, "low_mfu", name), ChecklistResult::unknown) << name;
  EXPECT_EQ(result_of(more, "timeline", "gaps"), ChecklistResult::unknown);
}

// The figure is the one by which a slow link is named.
TEST(Checklists, TheSlowestTransferIsJudgedByTheTimeOfItsLink) {
  TestReport t({{{compute, 90}}, {{compute, 90}}});
  t.job.explanation.emplace();
  const Machine machine = *machine_named("a100_sxm_80gb");
  CollectiveRow row;
  row.kind = CollectiveKind::all_reduce;
  row.group_size = 2;
  row.groups = {0};
  row.bytes = Bytes{1 << 30};
  row.count = row.split = 1;
  t.job.collectives.matches.groups = {{.name = "dp", .description = {}, .ranks = {0, 1}}};
  t.job.collectives.matches.hosts.given = true;
  row.transfer = Ns{1'000'000'000};
  t.job.collectives.rows = {row};
  const auto expected =
      expected_collectives(t.job.collectives, *make_network(machine), 2).at(0).expected;
  t.job.collectives.rows[0].transfer = Ns{std::llround(2 * expected * 1e9)};
  const StepFacts facts = facts_of(t.job);
  const auto lists =
      checklists({.facts = facts, .job = &t.job, .machine = &machine, .world_size = 2});
  const ChecklistLine line = line_of(lists, "communication", "bandwidth");
  EXPECT_EQ(line.result, ChecklistResult::fine);
  EXPECT_TRUE(say(line.evidence).find("reaches 50.0 % of what its link allows; one below 33.3 %") !=
              std::string::npos)
      << say(line.evidence);
  t.job.collectives.rows[0].transfer = Ns{std::llround(expected / 2 * 1e9)};
  const auto impossible =
      checklists({.facts = facts, .job = &t.job, .machine = &machine, .world_size = 2});
  EXPECT_EQ(result_of(impossible, "communication", "bandwidth"), ChecklistResult::unknown)
      << "no link carries twice its rate";
}

TEST(Checklists, WithoutCommunicationThereIsNothingToOverlap) {
  const StepFacts facts = facts_with(0, 0);
  const auto lists = checklists({.facts = facts, .lacking = msg::plain("no trace")});
  EXPECT_EQ(result_of(lists, "communication", "overlap"), ChecklistResult::unknown);
  EXPECT_EQ(result_of(lists, "timeline", "collective_tails"), ChecklistResult::unknown);
  EXPECT_NE(say(line_of(lists, "communication", "overlap").evidence).find("every rank"),
            std::string::npos);
}

TEST(Checklists, AFindingIsEvidence) {
  TestReport t({{{compute, 90}, {idle_host, 10}}, {{compute, 90}, {idle_host, 10}}});
  t.kernel("gemm", NameClass::matmul, 0.9).tensor_core = true;
  t.rank(0).recording.shaped_operators = 1;
  t.job.explanation.emplace();
  StepFacts facts = facts_of(t.job);
  const auto before = checklists({.facts = facts, .job = &t.job});
  for (const char* name : {"mixed_precision", "tensor_cores", "batch_size", "memory_bandwidth"})
    EXPECT_EQ(result_of(before, "low_mfu", name), ChecklistResult::fine) << name;
  std::vector<Finding> findings;
  for (const char* id : {"fp32_matmuls", "tensor_cores_unused", "small_matmuls", "memory_bound",
                         "data_loader", "exposed_copies", "memory_near_limit"}) {
    Finding& f = findings.emplace_back();
    f.id = id;
    f.what = msg::plain("It is so");
    f.evidence = {msg::plain("twice")};
  }
  const auto after = checklists({.facts = facts, .job = &t.job, .findings = findings});
  for (const char* name :
       {"mixed_precision", "tensor_cores", "batch_size", "memory_bandwidth", "data_loading"}) {
    EXPECT_EQ(result_of(after, "low_mfu", name), ChecklistResult::look) << name;
    EXPECT_EQ(say(line_of(after, "low_mfu", name).evidence), "It is so; twice");
  }
  EXPECT_EQ(result_of(after, "timeline", "copies"), ChecklistResult::look);
  EXPECT_EQ(result_of(after, "memory", "limit"), ChecklistResult::look);
}

TEST(Checklists, MemoryIsThatOfTheFullestDevice) {
  TestReport t({{{compute, 90}, {idle_host, 10}}, {{compute, 90}, {idle_host, 10}}});
  StepFacts facts = facts_of(t.job);
  EXPECT_EQ(result_of(checklists({.facts = facts, .job = &t.job}), "memory", "peak"),
            ChecklistResult::unknown);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    DeviceMemory& d = t.rank(rank).memory.devices.emplace_back();
    d.device = 0;
    d.peak_allocated = Bytes{rank == 1 ? 60'000'000 : 50'000'000};
    d.peak_reserved = Bytes{80'000'000};
  }
  facts.headroom = Bytes{5};
  facts.capacity = Bytes{100};
  const auto lists = checklists({.facts = facts, .job = &t.job});
  EXPECT_EQ(say(line_of(lists, "memory", "peak").evidence),
            "rank 1 allocates most, 60.0 MB at the peak, and reserves 80.0 MB");
  EXPECT_EQ(say(line_of(lists, "memory", "fragmentation").evidence),
            "25.0 % of what is reserved is not allocated at the peak");
  EXPECT_EQ(result_of(lists, "memory", "fragmentation"), ChecklistResult::look);
  t.rank(1).device.memory = Bytes{800'000'000};
  EXPECT_EQ(result_of(checklists({.facts = facts, .job = &t.job}), "memory", "fragmentation"),
            ChecklistResult::fine);
  EXPECT_EQ(result_of(lists, "memory", "limit"), ChecklistResult::look);
  facts.headroom = Bytes{50};
  EXPECT_EQ(result_of(checklists({.facts = facts, .job = &t.job}), "memory", "limit"),
            ChecklistResult::fine);
}

}  // namespace
}  // namespace stepscope
