// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>

#include "stepscope/diagnose/analysis_test_builder.h"
#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

// A step of 1 s in which messages of `best` instead of 4 MB would save `saved` ms.
std::vector<Finding> findings_with(std::int64_t best, std::int64_t saved) {
  TestReport report({{{BudgetCategory::compute, 1000}}});
  report.job.steps.summary = Summary{};
  report.job.steps.summary->mean = 1e9;
  BucketSearch search;
  search.kind = CollectiveKind::all_reduce;
  search.usual = Bytes{4'000'000};
  search.before = 40;
  search.after = 10;
  search.best.scenario = {.change = Change::bucket, .size = Bytes{best}};
  search.best.saved = Ns{saved * 1'000'000};
  search.best.nodes = 80;
  report.job.explanation.emplace();
  report.job.explanation->buckets = search;
  return find_findings({.job = report.job});
}

const Finding* with_id(const std::vector<Finding>& findings, std::string_view id) {
  const auto at = std::ranges::find(findings, id, &Finding::id);
  return at == findings.end() ? nullptr : &*at;
}

TEST(BucketSize, TooSmallWhereLargerOnesPay) {
  const auto findings = findings_with(16'000'000, 30);
  const Finding* f = with_id(findings, "bucket_too_small");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(*f->gain, Ns{30'000'000});
  EXPECT_EQ(f->change, "bucket:16MB");
  EXPECT_EQ(f->confidence, Confidence::high);
  EXPECT_EQ(say(f->evidence.at(0)),
            "all_reduce: half of the bytes in messages of 4.00 MB or more, 40 messages over the "
            "recorded steps");
  EXPECT_EQ(with_id(findings, "bucket_too_large"), nullptr);
}

TEST(BucketSize, TooLargeWhereSmallerOnesPay) {
  const auto findings = findings_with(1'000'000, 30);
  const Finding* f = with_id(findings, "bucket_too_large");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->change, "bucket:1MB");
  EXPECT_EQ(with_id(findings, "bucket_too_small"), nullptr);
}

TEST(BucketSize, IsNoFindingBelowAHundredthOfAStep) {
  const auto findings = findings_with(16'000'000, 9);
  EXPECT_EQ(with_id(findings, "bucket_too_small"), nullptr);
  EXPECT_EQ(with_id(findings, "bucket_too_large"), nullptr);
}

}  // namespace

}  // namespace stepscope
