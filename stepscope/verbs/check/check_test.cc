// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/check/check.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "stepscope/say/say.h"

namespace stepscope {
namespace {

class CheckInput : public testing::Test {
 protected:
  ~CheckInput() override { std::filesystem::remove(path_); }

  CheckResult check_of(const std::string& text) const {
    std::ofstream(path_) << text;
    auto result = check({.traces = {.inputs = {path_}}});
    EXPECT_TRUE(result) << result.error().message();
    return result ? std::move(*result) : CheckResult{.version = "", .input = "", .facts = {}};
  }

  std::string path_ = testing::TempDir() + "check_test_" + std::to_string(getpid()) + ".csv";
};

// Ten steps of `ranks` ranks; the last rank is slower by this share.
std::string table_of(int ranks, double slower) {
  std::string text = "step,rank,step_time_ns\n";
  for (int step = 3; step < 13; ++step)
    for (int rank = 0; rank < ranks; ++rank)
      text += std::to_string(step) + ',' + std::to_string(rank) + ',' +
              std::to_string(rank == ranks - 1 ? 1e6 * (1 + slower) : 1e6) + '\n';
  return text;
}

TEST_F(CheckInput, ATableOfRanksTellsTheirTimes) {
  const CheckResult c = check_of(table_of(4, 0.02));
  ASSERT_EQ(c.times.ranks.size(), 4U);
  EXPECT_EQ(c.times.columns.front().first, 3);
  EXPECT_NEAR(*c.times.ranks[3].deviation, 0.02, 1e-9);
  EXPECT_TRUE(c.late.empty());
}

TEST_F(CheckInput, ARankWhoseStepsAreMuchLongerIsNamed) {
  const CheckResult c = check_of(table_of(4, 0.1));
  EXPECT_EQ(say_all(c.late), std::vector<std::string>{"a step of rank 3 takes 10.0 % longer than "
                                                      "that of the median rank"});
}

TEST_F(CheckInput, StepsWithoutNumbersCountFromZero) {
  const CheckResult c = check_of("5\n6\n5\n");
  ASSERT_EQ(c.times.columns.size(), 3U);
  EXPECT_EQ(c.times.columns[2].last, 2);
  EXPECT_TRUE(c.times.ranks.empty());
  ASSERT_TRUE(c.times.job);
  EXPECT_EQ(c.times.job->max_ns, 6e6);
}

TEST_F(CheckInput, TheJsonOfTrainTellsItsRanks) {
  const CheckResult c = check_of(
      R"({"schema":"stepscope.train/1",)"
      R"("steps":[{"index":4,"wall_ns":30},{"index":5,"wall_ns":31}],)"
      R"("rank_steps":[{"rank":0,"index":4,"wall_ns":29},{"rank":1,"index":4,"wall_ns":30}]})");
  EXPECT_EQ(c.kind, CheckedKind::train);
  EXPECT_EQ(c.times.ranks.size(), 2U);
  EXPECT_EQ(c.times.columns.front().first, 4);
  EXPECT_FALSE(c.facts.arrivals_known);
}

TEST_F(CheckInput, TheVerdictOfTrainNamesTheLateRank) {
  const auto run = [](const std::string& ranks) {
    return R"({"schema":"stepscope.train/1","answer":{"verdict":{"ranks":[)" + ranks +
           R"(],"sentence":"Rank 1 is late."}},"steps":[{"index":4,"wall_ns":30}],"rank_steps":[)"
           R"({"rank":0,"index":4,"wall_ns":30,"budget_ns":{"compute":30}},)"
           R"({"rank":1,"index":4,"wall_ns":30,"budget_ns":{"compute":30}}]})";
  };
  const CheckResult late = check_of(run("1"));
  EXPECT_EQ(say_all(late.late), std::vector<std::string>{"Rank 1 is late"});
  const CheckResult none = check_of(run(""));
  EXPECT_TRUE(none.late.empty());
  EXPECT_TRUE(none.facts.arrivals_known);
  const CheckResult unjudged = check_of(
      R"({"schema":"stepscope.train/1","answer":{"verdict":null,"no_verdict":"Too noisy."},)"
      R"("steps":[{"index":4,"wall_ns":30}],"rank_steps":[]})");
  EXPECT_FALSE(unjudged.facts.arrivals_known);
  EXPECT_EQ(unjudged.facts.why_arrivals_unknown, "Too noisy");
}

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
  const auto good = check_lines(facts, nullptr, {}, {}, 8);
  ASSERT_EQ(good.size(), 7U);
  for (const CheckLine& l : good) EXPECT_EQ(l.status, CheckStatus::good) << l.name;
  StepFacts worse = facts_with(85, 60);
  worse.arm.n_eff = 3;
  worse.mfu = 0.2;
  worse.capacity = Bytes{100};
  worse.headroom = Bytes{5};
  const auto look = check_lines(worse, nullptr, {msg::rank_is_late(1, Value())}, {}, 8);
  for (const char* name : {"steps", "mfu", "rank_balance", "stragglers", "idle", "headroom"})
    EXPECT_EQ(status_of(look, name), CheckStatus::look) << name;
  EXPECT_EQ(status_of(look, "communication"), CheckStatus::good);
  const std::string steps = say(look.front().sentence);
  EXPECT_TRUE(steps.ends_with(" a comparison finds large changes only")) << steps;
  EXPECT_EQ(say(look[3].sentence), "rank 1 is late");
}

TEST(CheckLines, SayWhatIsNotKnown) {
  const auto lines = check_lines({}, nullptr, {}, msg::needs_model_flops(), 8);
  for (const char* name :
       {"mfu", "rank_balance", "stragglers", "communication", "idle", "headroom"})
    EXPECT_EQ(status_of(lines, name), CheckStatus::unknown) << name;
  EXPECT_EQ(say(lines[1].sentence), "not known: needs the model's FLOPs");
}

TEST(RecordNext, AsksForWhatIsMissing) {
  StepFacts facts = facts_with(95, 95);
  EXPECT_EQ(record_next(CheckedKind::list, facts, nullptr, 8),
            Messages{msg::next_trace_of_ranks()});
  facts.arm.n_eff = 2;
  facts.arm.correlation_time = 2;
  const auto next = say_all(record_next(CheckedKind::train, facts, nullptr, 8));
  ASSERT_EQ(next.size(), 3U);
  EXPECT_EQ(next[0], "more steps: about 16 for one comparison");
  EXPECT_TRUE(next[2].starts_with("the model (--model NAME"));
}

}  // namespace

}  // namespace stepscope
