// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/sections/account.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "stepscope/diagnose/analysis_test_builder.h"
#include "stepscope/say/format.h"

namespace stepscope {
namespace {

using enum BudgetCategory;

// The sum of the printed percents, in tenths.
std::int64_t printed_tenths(const std::string& account) {
  std::int64_t sum = 0;
  for (std::size_t p = account.find(" %  "); p != std::string::npos;
       p = account.find(" %  ", p + 1)) {
    const std::size_t begin = account.rfind(' ', p - 1) + 1;
    sum += std::llround(std::stod(account.substr(begin, p - begin)) * 10);
  }
  return sum;
}

MfuBudget with_terms(std::initializer_list<std::pair<MfuTerm, double>> percents) {
  MfuBudget mfu;
  mfu.step = Ns{1'000'000'000};
  mfu.peak = FlopRate{0.076e12};
  mfu.peak_source = "--peak-tflops";
  for (const auto& [term, percent] : percents)
    mfu.terms.push_back({.term = term,
                         .time = Ns{static_cast<std::int64_t>(percent * 1e7)},
                         .percent = percent,
                         .money_per_day = {}});
  return mfu;
}

TEST(Account, APercentReadsAsWhereverElseTheFigureStands) {
  for (const double percent : {61.96, 100.0 / 3, 14.25, 0.06, 5.05, -5.08}) {
    const std::string text = account_text({{"rest", 1e9, 100 - percent}, {"x", 1e6, percent}});
    EXPECT_NE(text.find(" " + format_percent(percent / 100)), std::string::npos) << text;
  }
}

TEST(Account, LargestFirstAndWhatIsNothingNotAtAll) {
  const std::string text =
      account_text({{"small", 1e6, 10}, {"none", 0, 0}, {"large", 9e6, 90, "why"}});
  EXPECT_LT(text.find("large"), text.find("small"));
  EXPECT_EQ(text.find("none"), std::string::npos);
  EXPECT_NE(text.find("why"), std::string::npos);
}

TEST(Account, CausesUnderATenthOfAPercentAreOneLine) {
  const std::string text = account_text(
      {{"compute", 1e9, 99.87}, {"first", 6e5, 0.06}, {"second", 4e5, 0.04}, {"third", 3e5, 0.03}});
  EXPECT_NE(text.find("3 smaller causes"), std::string::npos);
  EXPECT_EQ(text.find("second"), std::string::npos);
  EXPECT_EQ(printed_tenths(text), 1000);
  EXPECT_NE(account_text({{"compute", 1e9, 99.95}, {"only", 5e5, 0.05}}).find("only"),
            std::string::npos);
}

TEST(Account, WhatIsBeyondTheLastLineIsSummedInIt) {
  const std::vector<AccountLine> lines = {
      {"a", 4e8, 40}, {"b", 3e8, 30}, {"c", 2e8, 20}, {"d", 6e7, 6}, {"e", 4e7, 4}};
  const std::string text = account_text(lines, 4);
  EXPECT_EQ(std::ranges::count(text, '\n'), 4);
  EXPECT_NE(text.find("2 smaller causes                   100 ms   10.0 %"), std::string::npos)
      << text;
  EXPECT_EQ(printed_tenths(text), 1000);
  EXPECT_EQ(account_text(lines, 5).find("smaller"), std::string::npos) << "five have place";
}

TEST(Account, AShortAccountHasTheFiguresOfTheWholeOne) {
  const std::vector<AccountLine> lines = {
      {"a", 1, 38.86}, {"b", 1, 31.24}, {"c", 1, 15.06}, {"d", 1, 9.56}, {"e", 1, 5.24}};
  const std::string whole = account_text(lines);
  const std::string brief = account_text(lines, 3);
  const std::size_t two = whole.find('\n', whole.find('\n') + 1);
  EXPECT_EQ(brief.substr(0, two), whole.substr(0, two));
  EXPECT_NE(brief.find("3 smaller causes"), std::string::npos) << brief;
  EXPECT_EQ(printed_tenths(brief), printed_tenths(whole));
}

TEST(Account, TheRankThatStandsOutIsNamed) {
  TestReport t({{{compute, 50}, {idle_host, 50}}, {{compute, 95}, {idle_host, 5}}});
  const std::string text = budget_account(t.job);
  EXPECT_NE(text.find("(mean over ranks):"), std::string::npos);  // of the one step
  EXPECT_NE(text.find("rank 0: 50.0 ms"), std::string::npos);
  EXPECT_NE(text.find("waiting for the host"), std::string::npos);
}

TEST(Account, OfSeveralStepsItIsTheMean) {
  TestReport t({{{compute, 50}}, {{compute, 95}}});
  t.job.steps.common.push_back({6, Ns{}, Ns{}, {0, 1}});
  EXPECT_NE(budget_account(t.job).find("(mean over ranks and steps):"), std::string::npos);
}

TEST(Account, ALossHasItsPriceWithoutModelFlops) {
  TestReport t({{{compute, 75}, {idle_data, 25}}});
  const std::string text = budget_account(t.job, every_line, 120.0);  // 2 GPUs at 2.50 an hour
  EXPECT_NE(text.find("30.00 a day"), std::string::npos) << text;
  EXPECT_EQ(text.find("90.00 a day"), std::string::npos) << "compute is no loss";
  EXPECT_EQ(budget_account(t.job).find("a day"), std::string::npos);
}

TEST(Account, ACpuRunHasNoHostBesideTheDevice) {
  TestReport t({{{compute, 50}, {idle_host, 50}}});
  t.rank(0).device.kind = "cpu";
  const std::string text = budget_account(t.job);
  EXPECT_EQ(text.find("waiting for the host"), std::string::npos);
  EXPECT_NE(text.find("between operators"), std::string::npos);
}

TEST(Account, WithoutModelFlopsWhatProductsTakeAtThePeakIsToldFromTheUnknown) {
  MfuBudget mfu = with_terms({{MfuTerm::executed_at_peak, 30},
                              {MfuTerm::kernel_inefficiency, 20},
                              {MfuTerm::memory_bound_compute, 20},
                              {MfuTerm::compute_unattributed, 20},
                              {MfuTerm::idle_host, 10}});
  mfu.hfu = 0.3;
  const std::string text = mfu_account(mfu, false);
  EXPECT_NE(text.find("matmul and attention at peak       300 ms   30.0 %"), std::string::npos)
      << text;
  EXPECT_NE(text.find("compute, FLOPs unknown             200 ms   20.0 %"), std::string::npos)
      << text;
  EXPECT_NE(text.find("mean 60.0 % of peak"), std::string::npos);
  EXPECT_EQ(printed_tenths(text), 1000);
}

TEST(Account, MoneyStandsBesideEachLoss) {
  MfuBudget mfu = with_terms({{MfuTerm::mfu, 60}, {MfuTerm::idle_host, 40}});
  mfu.mfu = 0.6;
  mfu.terms[1].money_per_day = 12.5;
  const std::string text = mfu_account(mfu, false);
  EXPECT_NE(text.find("12.50 a day"), std::string::npos);
  EXPECT_NE(text.find("0.076 TFLOP/s a device"), std::string::npos);
}

}  // namespace
}  // namespace stepscope
