// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/time/collective_cost.h"
#include "stepscope/diagnose/analysis_test_builder.h"
#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

Finding found(std::string_view id, std::int64_t gain, std::vector<std::string_view> reasons = {}) {
  Finding f;
  f.id = id;
  f.gain = Ns{gain};
  f.confidence = Confidence::high;
  f.reasons = std::move(reasons);
  return f;
}

std::vector<std::string_view> order_of(std::vector<Finding> findings) {
  TestReport t({{{BudgetCategory::compute, 100}}, {{BudgetCategory::compute, 100}}});
  t.record_everything();
  FindingList list({.job = t.job});
  for (Finding& f : findings) list.add(std::move(f));
  std::vector<std::string_view> ids;
  for (const Finding& f : list.take()) ids.push_back(f.id);
  return ids;
}

using Ids = std::vector<std::string_view>;

TEST(Findings, AreInTheOrderOfTheirGains) {
  EXPECT_EQ(order_of({found("recompute", 1), found("sync_calls", 3), found("memory_bound", 2)}),
            (Ids{"sync_calls", "memory_bound", "recompute"}));
}

TEST(Findings, WhatIsOnlyBoundedCountsHalf) {
  Finding bounded = found("memory_bound", 19);
  bounded.confidence = Confidence::medium;
  EXPECT_EQ(order_of({bounded, found("sync_calls", 10)}), (Ids{"sync_calls", "memory_bound"}));
  bounded.gain = Ns{22};
  EXPECT_EQ(order_of({bounded, found("sync_calls", 10)}), (Ids{"memory_bound", "sync_calls"}));
}

TEST(Findings, WithoutATimeStandBehindBounds) {
  Finding few;
  few.id = "too_few_steps";
  Finding bound = found("launch_bound", 50);
  bound.sort = FindingSort::bound;
  EXPECT_EQ(order_of({few, bound, found("sync_calls", 10)}),
            (Ids{"sync_calls", "launch_bound", "too_few_steps"}));
}

TEST(Findings, StandBehindTheirReason) {
  EXPECT_EQ(order_of({found("exposed_communication", 100, {"slow_link"}), found("sync_calls", 80),
                      found("slow_link", 60), found("recompute", 10)}),
            (Ids{"sync_calls", "slow_link", "exposed_communication", "recompute"}));
}

TEST(Findings, AReasonForLessThanHalfOfItStaysBehind) {
  EXPECT_EQ(order_of({found("exposed_communication", 100, {"slow_link"}), found("slow_link", 49)}),
            (Ids{"exposed_communication", "slow_link"}));
}

// Whatever is under what, every finding is listed once.
TEST(Findings, ReasonsInACircleOrAChainLoseNone) {
  EXPECT_EQ(
      order_of({found("recompute", 100, {"padding"}), found("padding", 90, {"recompute"})}).size(),
      2U);
  EXPECT_EQ(order_of({found("recompute", 100, {"padding"}), found("padding", 99, {"congestion"}),
                      found("congestion", 98, {"small_matmuls"}),
                      found("small_matmuls", 97, {"slow_link"}), found("slow_link", 96)})
                .size(),
            5U);
}

TEST(Findings, SeveralStandBehindOneReason) {
  EXPECT_EQ(order_of({found("exposed_communication", 100, {"bucket_too_small"}),
                      found("exposed_communication", 90, {"bucket_too_small"}),
                      found("bucket_too_small", 70)}),
            (Ids{"bucket_too_small", "exposed_communication", "exposed_communication"}));
}

// Two ranks of one domain and one kind of collective. Its 10 calls took `times` the expected time.
class SlowLink : public testing::Test {
 protected:
  void run(std::int64_t bytes, double times) {
    const Network network = *make_network(machine);
    const double one =
        collective_time(network, CollectiveKind::all_reduce, Bytes{bytes}, *place(2, 1, network))
            .count();
    job.steps.summary = Summary{};
    job.steps.summary->mean = 1e9;
    RankResult rank;
    rank.steps.resize(10);
    job.ranks.push_back(std::move(rank));
    CollectiveRow row;
    row.kind = CollectiveKind::all_reduce;
    row.group = "dp";
    row.group_size = 2;
    row.bytes = Bytes{bytes};
    row.count = row.split = 10;
    row.transfer = row.exposed = row.duration = Ns{std::llround(10 * one * times * 1e9)};
    row.groups = {0};
    job.collectives.matches.groups.push_back({.name = "dp", .description = {}, .ranks = {0, 1}});
    on_hosts({0, 0, 0, 0});
    job.collectives.rows.push_back(row);
    job.explanation.emplace();
    WhatIf& what_if = job.explanation->what_ifs.emplace_back();
    what_if.scenario.change = Change::communication_free;
    what_if.saved = free;
  }
  // By rank. Empty: no trace names its host.
  void on_hosts(const std::vector<std::uint32_t>& hosts) {
    RankHosts& known = job.collectives.matches.hosts;
    known = {};
    known.most = static_cast<int>(hosts.size());
    for (int rank = 0; rank < known.most; ++rank) {
      const std::uint32_t host = hosts[static_cast<std::size_t>(rank)];
      known.of_rank[rank] = {.host = host, .place = rank, .first = 0, .last = known.most - 1};
    }
  }
  const Finding* slow_link() {
    findings = find_findings({.job = job, .machine = &machine, .world_size = 2});
    for (const Finding& f : findings)
      if (f.id == "slow_link") return &f;
    return nullptr;
  }

  Machine machine = *machine_named("h100_sxm_80gb");
  Ns free{400'000'000};
  JobResult job;
  std::vector<Finding> findings;
};

TEST_F(SlowLink, IsNamedWithTheTimeItsRateWouldGiveBack) {
  run(std::int64_t{1} << 30, 10);
  const Finding* f = slow_link();
  ASSERT_NE(f, nullptr);
  const double exposed = seconds(job.collectives.rows[0].exposed).count() / 10;
  EXPECT_NEAR(seconds(*f->gain).count(), 0.9 * exposed, 1e-6);
  EXPECT_NE(say(f->what).find("10.0 times"), std::string::npos) << say(f->what);
}

// 8 times the time of the fast links is what the network takes.
TEST_F(SlowLink, IsOfTheNetworkIfTheRanksAreOnTwoHosts) {
  run(std::int64_t{1} << 30, 8);
  ASSERT_NE(slow_link(), nullptr);
  on_hosts({0, 1});
  EXPECT_EQ(slow_link(), nullptr);
  const Network network = *make_network(machine);
  const double apart = collective_time(network, CollectiveKind::all_reduce,
                                       *job.collectives.rows[0].bytes, *place(2, 8, network))
                           .count();
  job.collectives.rows[0].transfer = job.collectives.rows[0].exposed =
      Ns{std::llround(10 * 4 * apart * 1e9)};
  ASSERT_NE(slow_link(), nullptr);
  EXPECT_NE(say(slow_link()->what).find("4.00 times"), std::string::npos);
}

TEST_F(SlowLink, IsNotNamedIfTheHostsAreUnknownAndTheNetworkMayBeTheLink) {
  run(std::int64_t{1} << 30, 8);
  on_hosts({});
  EXPECT_EQ(slow_link(), nullptr);
  job.collectives.matches.hosts.given = true;  // --gpus-per-node
  EXPECT_NE(slow_link(), nullptr);
  job.collectives.matches.hosts.given = false;
  job.collectives.rows[0].transfer = job.collectives.rows[0].exposed = Ns{10'000'000'000};
  EXPECT_NE(slow_link(), nullptr) << "too slow for either";
}

TEST_F(SlowLink, GivesBackNothingOfWaiting) {
  run(std::int64_t{1} << 30, 10);
  ASSERT_NE(slow_link(), nullptr);
  const Ns transfers = *slow_link()->gain;
  job.collectives.rows[0].exposed += Ns{20'000'000};
  EXPECT_EQ(slow_link()->gain, transfers);
}

TEST_F(SlowLink, GivesBackNoMoreThanFreeCommunication) {
  free = Ns{20'000'000};
  run(std::int64_t{1} << 30, 10);
  ASSERT_NE(slow_link(), nullptr);
  EXPECT_EQ(slow_link()->gain, free);
}

TEST_F(SlowLink, TwiceAsLongIsNoSlowLink) {
  run(std::int64_t{1} << 30, 2);
  EXPECT_EQ(slow_link(), nullptr);
}

TEST_F(SlowLink, LatencySaysNothingOfALink) {
  run(64, 5000);
  EXPECT_EQ(slow_link(), nullptr);
}

TEST_F(SlowLink, CallsWhoseWaitingIsUnknownSayNothingOfIt) {
  run(std::int64_t{1} << 30, 10);
  job.collectives.rows[0].split = 0;
  job.collectives.rows[0].transfer.reset();
  EXPECT_EQ(slow_link(), nullptr);
}

TEST_F(SlowLink, SiblingsThatAreAllSlowAreOneFinding) {
  run(std::int64_t{1} << 30, 10);
  job.collectives.rows[0].dimension = Dimension::dp;
  job.collectives.rows.push_back(job.collectives.rows[0]);
  job.collectives.rows[1].group = "dp1";
  job.collectives.rows[1].groups = {1};
  job.collectives.matches.groups.push_back({.name = "dp1", .description = {}, .ranks = {2, 3}});
  const Finding* f = slow_link();
  ASSERT_NE(f, nullptr);
  EXPECT_TRUE(say(f->what).starts_with("Transfers of 2 dp groups take 10.0 times")) << say(f->what);
  EXPECT_EQ(std::ranges::count(findings, "slow_link", &Finding::id), 1);
}

// Two ranks without a device and a step of 1 s, in which they wait for collectives too early; not
// doing so saves 30 ms.
struct EarlyWaits {
  EarlyWaits() {
    job.steps.common.resize(10);
    for (const int rank : {0, 1}) {
      RankResult& r = job.ranks.emplace_back();
      r.rank = rank;
      r.device.kind = "cpu";
      r.steps.resize(10);
    }
    job.explanation.emplace();
    job.explanation->step = Ns{1'000'000'000};
    job.explanation->early_waits = {{.rank = 1,
                                     .count = 30,
                                     .collectives = 40,
                                     .total = Ns{400'000'000},
                                     .worst_at = Ns{7},
                                     .worst = Ns{20'000'000}},
                                    {.rank = 0, .count = 1, .collectives = 40, .total = Ns{9}}};
    job.explanation->faults = {{.kind = StepFaultKind::sync_calls,
                                .scenario = {.change = Change::sync_free},
                                .gain = Ns{30'000'000},
                                .count = 3}};
    what_if({.change = Change::sync_free}, 30);
  }
  void what_if(const Scenario& scenario, std::int64_t saved) {
    WhatIf& w = job.explanation->what_ifs.emplace_back();
    w.scenario = scenario;
    w.saved = Ns{saved * 1'000'000};
  }
  // That cost time: ten steps by hand are too few.
  [[nodiscard]] std::vector<Finding> findings() const {
    std::vector<Finding> found = find_findings({.job = job});
    std::erase_if(found, [](const Finding& f) { return !f.gain; });
    return found;
  }

  JobResult job;
};

TEST(EarlyWaits, AreNamedWithWhatNotWaitingWouldGiveBack) {
  const auto findings = EarlyWaits().findings();
  ASSERT_EQ(findings.size(), 1U);
  const Finding& f = findings[0];
  EXPECT_EQ(f.id, "sync_calls");
  EXPECT_EQ(say(f.what),
            "Ranks wait for collectives long before their results are needed, 3 times a step: this "
            "costs 30.0 ms (3.0 %) of each step of 1.00 s");
  EXPECT_EQ(f.gain, Ns{30'000'000});
  EXPECT_EQ(f.change, "sync_free");
  ASSERT_EQ(f.evidence.size(), 2U);
  EXPECT_NE(say(f.evidence[0]).find("rank 1 stands still in 30 of 40 collectives, 400 ms"),
            std::string::npos)
      << say(f.evidence[0]);
  EXPECT_EQ(f.place->rank, 1);
  EXPECT_EQ(f.place->start, Ns{7});
}

// A device's calls are an opportunity.
TEST(EarlyWaits, AreAskedOfRanksWithoutADeviceOnly) {
  EarlyWaits e;
  for (RankResult& r : e.job.ranks) r.device.kind = "cuda";
  record_everything(e.job);
  e.job.explanation->faults.clear();
  const auto findings = e.findings();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_TRUE(findings[0].evidence.empty());
}

TEST(EarlyWaits, AreTheReasonForExposedCommunication) {
  EarlyWaits e;
  e.what_if({.change = Change::communication_free, .kind = CollectiveKind::reduce_scatter}, 50);
  e.what_if({.change = Change::communication_free, .kind = CollectiveKind::all_gather}, 70);
  const auto findings = e.findings();
  ASSERT_EQ(findings.size(), 3U);
  EXPECT_EQ(findings[0].key, "sync_calls");
  EXPECT_EQ(findings[1].key, "exposed_communication:reduce_scatter");
  EXPECT_EQ(findings[1].under, "sync_calls");
  EXPECT_EQ(findings[2].key, "exposed_communication:all_gather");
  EXPECT_EQ(findings[2].under, "");  // 30 is not half of 70
}

TEST(Findings, FragmentationNamesTheCallThatWritesASnapshotAndTheVerbThatReadsIt) {
  TestReport r({{{BudgetCategory::compute, 100}}});
  r.rank(0).device.memory = Bytes{80'000'000'000};
  DeviceMemory& memory = r.rank(0).memory.devices.emplace_back();
  memory.device = 0;
  memory.headroom = Bytes{20'000'000'000};
  memory.peak_allocated = Bytes{30'000'000'000};
  memory.peak_reserved = Bytes{60'000'000'000};
  const std::vector<Finding> findings = find_findings({.job = r.job});
  const auto found = std::ranges::find(findings, "fragmentation", &Finding::id);
  ASSERT_NE(found, findings.end());
  const std::string advice = say(found->advice);
  EXPECT_NE(advice.find("_dump_snapshot(FILE), then stepscope memory FILE"), std::string::npos)
      << advice;
}

}  // namespace
}  // namespace stepscope
