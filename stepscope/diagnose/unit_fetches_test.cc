// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/unit_fetches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/diagnose/judged_test_results.h"
#include "stepscope/diagnose/warnings.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

using namespace test;

TEST(UnitFetches, APrefetchThatGivesTimeBackIsAFinding) {
  const AnalyzedRank a(late_third_unit());
  const auto findings = find_findings({.job = a.job});
  const auto f = std::ranges::find(findings, "prefetch_miss", &Finding::id);
  ASSERT_NE(f, findings.end());
  EXPECT_EQ(f->gain, Ns{19'000});
  EXPECT_EQ(f->change, "prefetch:2");
  ASSERT_TRUE(f->place);
  EXPECT_EQ(f->place->start, Ns{170'000});
  EXPECT_EQ(f->place->time, Ns{19'000});
  EXPECT_NE(say(f->advice).find("--prefetch 2"), std::string::npos) << say(f->advice);
}

TEST(UnitFetches, HitsAreNoFinding) {
  const AnalyzedRank a(two_hits());
  for (const Finding& f : find_findings({.job = a.job})) EXPECT_NE(f.id, "prefetch_miss");
}

TEST(UnitFetches, UnknownUnitsAreSaid) {
  const AnalyzedRank a(unknown_units());
  const auto warning = unit_waits_warning(a.job.units, a.job.collectives);
  EXPECT_NE(say(warning).find("with_stack=True"), std::string::npos);
}

TEST(UnitFetches, TensorParallelismGathersNoUnits) {
  AnalyzedRank a(unknown_units());
  for (CollectiveRow& row : a.job.collectives.rows) row.dimension = Dimension::tp;
  EXPECT_TRUE(unit_waits_warning(a.job.units, a.job.collectives).empty());
}

}  // namespace
}  // namespace stepscope
