// SPDX-License-Identifier: Apache-2.0
#include "stepscope/pipeline/check_lines.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stepscope {
namespace {

using enum BudgetCategory;

// Two ranks of one role that compute `first` and `second` of 100 ms and idle for the rest.
StepFacts facts_with(std::int64_t first, std::int64_t second) {
  StepFacts facts;
  facts.arm.steps = 20;
  facts.arm.median_ns = facts.arm.mean_ns = 100e6;
  facts.arm.n_eff = 20;
  for (const std::int64_t ms : {first, second}) {
    RankFacts& rank = facts.ranks.emplace_back();
    rank.rank = static_cast<int>(facts.ranks.size()) - 1;
    rank.mean.time[static_cast<std::size_t>(compute)] = Ns{ms * 1'000'000};
    rank.mean.time[static_cast<std::size_t>(idle_host)] = Ns{(100 - ms) * 1'000'000};
  }
  return facts;
}

CheckStatus status_of(const std::vector<CheckLine>& lines, const std::string& name) {
  for (const CheckLine& l : lines)
    if (l.name == name) return l.status;
  ADD_FAILURE() << name;
  return CheckStatus::unknown;
}

TEST(CheckLines, JudgeEachFigureByItsBound) {
  StepFacts facts = facts_with(95, 95);
  facts.mfu = 0.4;
  facts.arrivals_known = true;
  facts.capacity = Bytes{100};
  facts.headroom = Bytes{20};
  const auto good = check_lines(facts, nullptr, "", 8);
  ASSERT_EQ(good.size(), 7U);
  for (const CheckLine& l : good) EXPECT_EQ(l.status, CheckStatus::good) << l.name;
  StepFacts worse = facts_with(85, 60);
  worse.arm.n_eff = 3;
  worse.mfu = 0.2;
  worse.stragglers = {"rank 1 is late"};
  worse.capacity = Bytes{100};
  worse.headroom = Bytes{5};
  const auto look = check_lines(worse, nullptr, "", 8);
  for (const char* name : {"steps", "mfu", "rank_balance", "stragglers", "idle", "headroom"})
    EXPECT_EQ(status_of(look, name), CheckStatus::look) << name;
  EXPECT_EQ(status_of(look, "communication"), CheckStatus::good);
  EXPECT_TRUE(look.front().sentence.ends_with(" a comparison finds large changes only"))
      << look.front().sentence;
}

TEST(CheckLines, SayWhatIsNotKnown) {
  const auto lines = check_lines({}, nullptr, "needs the model's FLOPs", 8);
  for (const char* name :
       {"mfu", "rank_balance", "stragglers", "communication", "idle", "headroom"})
    EXPECT_EQ(status_of(lines, name), CheckStatus::unknown) << name;
  EXPECT_EQ(lines[1].sentence, "not known: needs the model's FLOPs");
}

TEST(RecordNext, AsksForWhatIsMissing) {
  StepFacts facts = facts_with(95, 95);
  EXPECT_EQ(record_next(CheckedKind::list, facts, nullptr, 8),
            (std::vector<std::string>{
                "a trace of five steps of every rank: where the time goes needs one"}));
  facts.arm.n_eff = 2;
  facts.arm.correlation_time = 2;
  const auto next = record_next(CheckedKind::train, facts, nullptr, 8);
  ASSERT_EQ(next.size(), 3U);
  EXPECT_EQ(next[0], "more steps: about 16 for one comparison");
  EXPECT_TRUE(next[2].starts_with("the model (--model NAME"));
}

}  // namespace
}  // namespace stepscope
