// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <optional>
#include <string_view>

#include "stepscope/diagnose/analysis_test_builder.h"
#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

using enum BudgetCategory;

// One rank, one step of 100 ms.
struct OneRank : TestReport {
  OneRank() : TestReport({{{compute, 80}, {idle_host, 20}}}) {
    const std::vector<std::int64_t> walls = {100'000'000};
    job.steps.summary = summarize(walls);
  }
  [[nodiscard]] std::optional<Finding> found(std::string_view id) const {
    for (Finding& f : find_findings({.job = job}))
      if (f.id == id) return std::move(f);
    return std::nullopt;
  }
};

TEST(LockAndRetries, RetriesCostTheTimeOfTheirCalls) {
  OneRank r;
  r.rank(0).host.retries = {.count = 2,
                            .after_failure = 1,
                            .frees = 7,
                            .total = Ns{3'000'000},
                            .worst_at = Ns{10},
                            .worst = Ns{2'000'000}};
  const auto f = r.found("allocation_retries");
  ASSERT_TRUE(f);
  EXPECT_EQ(f->gain, Ns{3'000'000});
  EXPECT_EQ(f->confidence, Confidence::medium);
  ASSERT_TRUE(f->place);
  EXPECT_EQ(f->place->time, Ns{2'000'000});
  EXPECT_NE(say(f->evidence.at(1)).find("inferred"), std::string::npos);
}

TEST(LockAndRetries, RetriesBelowAHundredthOfAStepAreLeftOut) {
  OneRank r;
  r.rank(0).host.retries = {.count = 2, .frees = 7, .total = Ns{900'000}};
  EXPECT_FALSE(r.found("allocation_retries"));
  EXPECT_FALSE(r.found("gil_contention"));
}

TEST(LockAndRetries, TheLockCostsWhatTheDeviceIdledForIt) {
  OneRank r;
  r.rank(0).host.gil = {.count = 4, .total = Ns{30'000'000}, .idle = Ns{12'000'000}};
  const auto f = r.found("gil_contention");
  ASSERT_TRUE(f);
  EXPECT_EQ(f->gain, Ns{12'000'000});
}

TEST(LockAndRetries, ALockWaitedForWhileTheDeviceIsBusyCostsNothing) {
  OneRank r;
  r.rank(0).host.gil = {.count = 4, .total = Ns{30'000'000}, .idle = Ns{0}};
  EXPECT_FALSE(r.found("gil_contention"));
}

}  // namespace

}  // namespace stepscope
