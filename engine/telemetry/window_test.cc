// SPDX-License-Identifier: Apache-2.0
// The two operations that join windows, and their laws.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "engine/telemetry/interval_union.h"
#include "engine/telemetry/job_window.h"
#include "engine/telemetry/rank_window.h"
#include "engine/telemetry/window_test_builder.h"
#include "stepscope/stats/quantile_sketch_test_match.h"

namespace stepscope {
namespace {

using namespace std::chrono_literals;

void expect_same(const JobWindow& a, const JobWindow& b) {
  ASSERT_EQ(a.ranks.size(), b.ranks.size());
  for (std::size_t i = 0; i < a.ranks.size(); ++i) {
    stepscope::expect_same(a.ranks[i], b.ranks[i]);
    EXPECT_EQ(a.ranks[i].begin, b.ranks[i].begin);
    EXPECT_EQ(a.ranks[i].end, b.ranks[i].end);
  }
  const JobTotals one = job_totals(a);
  const JobTotals other = job_totals(b);
  EXPECT_EQ(one.steps, other.steps);
  EXPECT_EQ(one.wall, other.wall);
  EXPECT_EQ(one.committed_wall, other.committed_wall);
  EXPECT_EQ(one.device_wall, other.device_wall);
  EXPECT_EQ(one.tokens, other.tokens);
  EXPECT_EQ(one.model_flops, other.model_flops);
  EXPECT_EQ(one.longest, other.longest);
  EXPECT_TRUE(test::same_distribution(one.step_wall, other.step_wall));
}

JobWindow gathered(const std::vector<RankWindow>& ranks) {
  auto window = gather(ranks);
  EXPECT_TRUE(window) << window.error().message();
  return *window;
}

JobWindow joined(const JobWindow& a, const JobWindow& b) {
  auto window = gather(a, b);
  EXPECT_TRUE(window) << window.error().message();
  return *window;
}

// Three ranks, three stretches of four steps each.
struct ThreeRanks {
  std::vector<std::vector<RankWindow>> stretches;  // [stretch][rank]
  explicit ThreeRanks(std::uint64_t seed) {
    std::vector<Builder> ranks;
    for (int r = 0; r < 3; ++r) ranks.emplace_back(seed * 10 + static_cast<unsigned>(r), r, 3);
    for (int s = 0; s < 3; ++s) {
      auto& stretch = stretches.emplace_back();
      for (Builder& rank : ranks) {
        for (int i = 0; i < 4; ++i) rank.step();
        stretch.push_back(rank.recorder.take_window());
      }
    }
  }
};

TEST(Windows, GatherIsAssociativeCommutativeAndHasAnIdentity) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const std::vector<RankWindow> ranks = ThreeRanks(seed).stretches[0];
    const JobWindow a = gathered({ranks[0]});
    const JobWindow b = gathered({ranks[1]});
    const JobWindow c = gathered({ranks[2]});
    expect_same(joined(joined(a, b), c), joined(a, joined(b, c)));
    expect_same(joined(a, b), joined(b, a));
    expect_same(joined(c, joined(b, a)), gathered(ranks));
    expect_same(joined(a, JobWindow{}), a);
    expect_same(joined(JobWindow{}, a), a);
    EXPECT_TRUE(gathered({}).empty());
    expect_same(gathered({RankWindow{}, ranks[0]}), a);
  }
}

TEST(Windows, ConcatIsAssociativeAndHasAnIdentity) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const ThreeRanks run(seed);
    const RankWindow& a = run.stretches[0][1];
    const RankWindow& b = run.stretches[1][1];
    const RankWindow& c = run.stretches[2][1];
    stepscope::expect_same(*concat(*concat(a, b), c), *concat(a, *concat(b, c)));
    stepscope::expect_same(*concat(a, RankWindow{}), a);
    stepscope::expect_same(*concat(RankWindow{}, a), a);
  }
}

TEST(Windows, GatheringThenAppendingIsAppendingThenGathering) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const ThreeRanks run(seed);
    JobWindow by_stretch;
    std::vector<RankWindow> by_rank(3);
    for (const auto& stretch : run.stretches) {
      by_stretch = *concat(by_stretch, gathered(stretch));
      for (std::size_t r = 0; r < 3; ++r) by_rank[r] = *concat(by_rank[r], stretch[r]);
    }
    expect_same(by_stretch, gathered(by_rank));
    // Folding single steps changes no sum.
    JobWindow folded;
    for (const auto& stretch : run.stretches) {
      folded = *concat(folded, gathered(stretch));
      fold_steps(folded);
      EXPECT_TRUE(folded.ranks[0].steps.empty());
    }
    const JobTotals kept = job_totals(by_stretch);
    const JobTotals summed = job_totals(folded);
    EXPECT_EQ(kept.steps, summed.steps);
    EXPECT_EQ(kept.wall, summed.wall);
    EXPECT_EQ(kept.longest, summed.longest);
    EXPECT_EQ(kept.tokens, summed.tokens);
    EXPECT_TRUE(test::same_distribution(kept.step_wall, summed.step_wall));
    const auto error = gather(folded, gathered({window_of(1, 0, 4, 12)}));
    ASSERT_FALSE(error);
    EXPECT_NE(error.error().message().find("before folding"), std::string::npos);
  }
}

TEST(Windows, RefuseToCountTheSameTimeTwice) {
  const ThreeRanks run(3);
  const RankWindow& first = run.stretches[0][0];
  const RankWindow& second = run.stretches[1][0];
  const auto itself = concat(first, first);
  ASSERT_FALSE(itself);
  EXPECT_EQ(itself.error().message(),
            "steps [1, 5) of rank 0 and steps [1, 5) of rank 0 overlap; the same time would count "
            "twice; append windows in the order in which they were taken");
  EXPECT_FALSE(concat(second, first));
  EXPECT_FALSE(concat(first, run.stretches[1][1]));  // another rank
  const auto twice = gather(std::vector<RankWindow>{first, first});
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message().find("rank 0 comes twice"), std::string::npos);
  EXPECT_FALSE(gather(std::vector<RankWindow>{first, second}));
  EXPECT_FALSE(gather(std::vector<RankWindow>{first, run.stretches[1][1]}));  // other steps
  EXPECT_FALSE(concat(gathered(run.stretches[0]), gathered({run.stretches[1][0]})));
}

StepRecord step(std::int64_t index, Ns begin, Ns end, Ns forward) {
  StepRecord s{.index = index, .begin = begin, .end = end, .tokens = 100};
  s.activity[slot(Activity::forward)] = forward;
  s.activity[slot(Activity::other)] = end - begin - forward;
  return s;
}

RankWindow by_hand(int rank, const std::vector<StepRecord>& steps) {
  RankWindow w{.rank = rank,
               .world = 2,
               .first_step = steps.front().index,
               .end_step = steps.back().index + 1,
               .begin = steps.front().begin,
               .end = steps.back().end};
  for (const StepRecord& s : steps) {
    w.totals.wall += s.end - s.begin;
    ++w.totals.steps;
    w.totals.tokens += s.tokens;
    for (std::size_t i = 0; i < activity_count; ++i) w.totals.activity[i] += s.activity[i];
  }
  w.steps = steps;
  return w;
}

TEST(Windows, AJobsStepLastsFromTheEarliestBeginToTheLatestEnd) {
  const JobWindow job =
      gathered({by_hand(0, {step(0, 0ns, 100ns, 60ns), step(1, 100ns, 180ns, 70ns)}),
                by_hand(1, {step(0, 10ns, 90ns, 80ns), step(1, 90ns, 200ns, 10ns)})});
  const JobTotals totals = job_totals(job);
  EXPECT_EQ(totals.steps, 2);
  EXPECT_EQ(totals.wall, 200ns);  // steps of 100 and 110, 10 of them in both
  EXPECT_EQ(totals.device_wall, 400ns);
  EXPECT_EQ(totals.tokens, 400);
  // The longest of each step is summed: 80 + 70, not max(130, 90).
  EXPECT_EQ(totals.longest[slot(Activity::forward)], 150ns);
  const auto forward = *over_ranks(job, Activity::forward);
  EXPECT_EQ(forward.min, 90);
  EXPECT_EQ(forward.max, 130);
  EXPECT_EQ(forward.max_rank, 0);
  EXPECT_EQ(forward.min_rank, 1);
  EXPECT_EQ(forward.mean, 110);
  EXPECT_EQ(forward.stdev, 20);
  EXPECT_NEAR(*imbalance(job), 130.0 / 110 - 1, 1e-15);
}

TEST(Windows, AnOffsetPutsRanksOnOneClock) {
  RankWindow late = by_hand(1, {step(0, 5000ns, 5100ns, 0ns)});
  late.clock_offset = -5000ns;
  const JobWindow job = gathered({by_hand(0, {step(0, 0ns, 90ns, 0ns)}), late});
  EXPECT_EQ(job_totals(job).wall, 100ns);
}

TEST(Windows, RanksThatWereNeverInTheirStepsAtOnceAreRefused) {
  const auto early = by_hand(0, {step(0, 0ns, 90ns, 0ns)});
  const auto late = by_hand(1, {step(0, 5000ns, 5100ns, 0ns)});
  const auto refused = gather(std::vector{early, late});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "rank 1 begins steps [0, 1) 4910 ns after rank 0 has ended them; hosts count their "
            "time from other instants: give each rank its clock offset");
  EXPECT_FALSE(gather(std::vector{late, early}));
}

RankWindow with_calls(int rank, const std::vector<Ns>& calls) {
  RankWindow w = by_hand(rank, {step(0, 0ns, 1000ns, 0ns)});
  w.groups = {{"world", 2}};
  w.collectives = {{.kind = CollectiveKind::all_reduce}};
  for (std::size_t i = 0; i < calls.size(); ++i) {
    add_totals(
        w.collectives[0],
        {.calls = 1, .bytes = Bytes{100}, .time = 500ns - calls[i], .stall = 500ns - calls[i]});
    w.arrivals.push_back({.kind = CollectiveKind::all_reduce,
                          .sequence = i,
                          .submitted = calls[i],
                          .finished = 500ns,
                          .stall = 500ns - calls[i]});
  }
  return w;
}

TEST(Windows, ArrivalsOfAllMembersTellTheWaitOfACall) {
  RankWindow late = with_calls(1, {400ns, 320ns});
  for (Arrival& a : late.arrivals) {
    a.submitted -= 7000ns;
    a.finished -= 7000ns;
  }
  late.begin = -7000ns;
  late.end = -6000ns;
  late.clock_offset = 7000ns;
  const JobWindow both = gathered({with_calls(0, {100ns, 300ns}), late});
  const CollectiveTotals sum = job_collectives(both).at(0).sum;
  EXPECT_EQ(sum.timed_calls, 4U);
  EXPECT_EQ(sum.timed_bytes, Bytes{400});
  EXPECT_EQ(sum.peer_wait, 320ns);
  EXPECT_EQ(sum.transfer, 560ns);
  EXPECT_EQ(sum.peer_stall, 320ns);
  // One call without its peer: the row's mean would be of some of its calls.
  const JobWindow some = gathered({with_calls(0, {100ns, 300ns}), with_calls(1, {400ns})});
  EXPECT_EQ(job_collectives(some).at(0).sum.timed_calls, 0U);
  EXPECT_EQ(job_collectives(gathered({with_calls(0, {100ns})})).at(0).sum.timed_calls, 0U);
}

TEST(Windows, ACollectiveCountsOnceForAllItsMembers) {
  const ThreeRanks run(2);
  const auto calls = job_collectives(gathered(run.stretches[0]));
  std::uint64_t unique = 0;
  for (const JobCollective& c : calls) {
    EXPECT_EQ(c.sum.calls, 3 * c.unique);
    unique += c.unique;
  }
  EXPECT_EQ(unique, 4U * 6U);
}

TEST(Windows, LayersNameTheRankOfTheirExtremes) {
  RankWindow a = by_hand(0, {step(0, 0ns, 9ns, 0ns)});
  RankWindow b = by_hand(1, {step(0, 0ns, 9ns, 0ns)});
  a.layers = {{.name = "block 0"}};
  b.layers = {{.name = "block 0"}};
  a.layers[0].forward.add(5ns);
  a.layers[0].backward.add(20ns);
  b.layers[0].forward.add(6ns);
  b.layers[0].backward.add(15ns);
  const auto layers = job_layers(gathered({a, b}));
  ASSERT_EQ(layers.size(), 1U);
  EXPECT_EQ(layers[0].forward, (Durations{.count = 2, .total = 11ns, .min = 5ns, .max = 6ns}));
  EXPECT_EQ(layers[0].slowest_rank, 0);
  EXPECT_EQ(layers[0].fastest_rank, 0);
}

TEST(IntervalUnion, EqualsCountingEachNanosecond) {
  std::mt19937_64 random(1);
  for (int run = 0; run < 300; ++run) {
    IntervalUnion covered;
    std::vector<bool> ns(600);
    const int count = 1 + static_cast<int>(random() % 15);  // never more gaps than are kept
    for (int i = 0; i < count; ++i) {
      const auto begin = static_cast<std::int64_t>(random() % 500);
      const auto end = begin + static_cast<std::int64_t>(random() % 100) - 5;
      covered.add(Ns{begin}, Ns{end});
      for (std::int64_t t = begin; t < end; ++t) ns[static_cast<std::size_t>(t)] = true;
      EXPECT_EQ(covered.covered(), Ns{std::count(ns.begin(), ns.end(), true)});
    }
  }
}

TEST(IntervalUnion, KeepsToItsMemoryOverALongRun) {
  IntervalUnion covered;
  for (int i = 0; i < 100'000; ++i) {
    covered.add(Ns{10 * i}, Ns{10 * i + 4});
    covered.add(Ns{10 * i + 2}, Ns{10 * i + 6});
  }
  EXPECT_EQ(covered.covered(), Ns{600'000});
}

TEST(IntervalUnion, CountsWhatComesAFewIntervalsLate) {
  std::mt19937_64 random(2);
  IntervalUnion covered;
  std::vector<bool> ns(30'000);
  for (int block = 0; block < 2'000; ++block) {
    std::array<std::int64_t, 5> order{0, 1, 2, 3, 4};
    std::ranges::shuffle(order, random);
    for (const std::int64_t i : order) {
      const std::int64_t begin = 15 * block + 3 * i;
      const auto end = begin + static_cast<std::int64_t>(random() % 4);  // some touch, some do not
      covered.add(Ns{begin}, Ns{end});
      for (std::int64_t t = begin; t < end; ++t) ns[static_cast<std::size_t>(t)] = true;
    }
  }
  EXPECT_EQ(covered.covered(), Ns{std::count(ns.begin(), ns.end(), true)});
}

}  // namespace
}  // namespace stepscope
