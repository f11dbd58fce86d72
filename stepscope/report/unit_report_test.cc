// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/unit_report.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/ranks/unit_test_builder.h"
#include "stepscope/diagnose/findings.h"
#include "stepscope/diagnose/unit_fetches.h"
#include "stepscope/diagnose/warnings.h"

namespace stepscope {
namespace {

// A job of one rank, with the traces that its result refers to.
struct Analyzed {
  Trace trace;
  JobResult job;

  explicit Analyzed(TestRank rank) : trace(rank.rows().sealed()) {
    const RankInput input{0, &trace};
    job = analyze_job({&input, 1});
  }
};

TEST(UnitReport, HasTheInstantsOfEachFetch) {
  const Analyzed a(test::late_third_unit());
  const Json json = unit_waits_json(a.job);
  EXPECT_EQ(json["source"], "stepscope");
  ASSERT_EQ(json["fetches"].size(), 3U);
  const Json& c = json["fetches"][2];
  EXPECT_EQ(c["unit"], "c");
  EXPECT_EQ(c["pass"], "forward");
  EXPECT_EQ(c["step"], 4);
  EXPECT_EQ(c["issued_ns"], 109'000);
  EXPECT_EQ(c["needed_ns"], 170'000);
  EXPECT_EQ(c["arrived_ns"], 189'000);
  EXPECT_EQ(c["late_ns"], 19'000);
  EXPECT_EQ(c["verdict"], "late");
  EXPECT_EQ(c["hidden_by"], 2);
  EXPECT_EQ(json["fetches"][0]["hidden_by"], nullptr);
  ASSERT_EQ(json["units"].size(), 3U);
  EXPECT_EQ(json["units"][0]["unit"], "c");  // the latest first
  EXPECT_EQ(json["units"][2]["hits"], 1);
}

TEST(UnitReport, ListsWhatCameLate) {
  const Analyzed a(test::late_third_unit());
  const std::string text = unit_waits_text(a.job, 100);
  EXPECT_NE(text.find("2 of 3 fetches came after their unit was needed"), std::string::npos)
      << text;
  EXPECT_NE(text.find("19.0 µs"), std::string::npos) << text;
  EXPECT_EQ(text.find("\n  b "), std::string::npos) << text;  // a hit
}

TEST(UnitReport, APrefetchThatGivesTimeBackIsAFinding) {
  const Analyzed a(test::late_third_unit());
  const auto findings = find_findings({.job = a.job});
  const auto f = std::ranges::find(findings, "prefetch_miss", &Finding::id);
  ASSERT_NE(f, findings.end());
  EXPECT_EQ(f->gain, Ns{19'000});
  EXPECT_EQ(f->gain_from, "prefetch:2");
  ASSERT_TRUE(f->place);
  EXPECT_EQ(f->place->start, Ns{170'000});
  EXPECT_EQ(f->place->time, Ns{19'000});
  EXPECT_NE(f->advice.find("--prefetch 2"), std::string::npos) << f->advice;
}

TEST(UnitReport, HitsAreNoFinding) {
  test::EngineRank r(0, 0, 300);
  r.fetch("a", 0, 1);
  r.fetch("b", 1, 20);
  r.pass("a", "forward", 2, 150);
  r.pass("b", "forward", 150, 290);
  const Analyzed a(r.take());
  for (const Finding& f : find_findings({.job = a.job})) EXPECT_NE(f.id, "prefetch_miss");
  EXPECT_NE(unit_waits_text(a.job, 100).find("all 2 fetches had arrived"), std::string::npos);
}

TEST(UnitReport, UnknownUnitsAreNullAndSaySo) {
  TestRank r;
  r.rows().step("ProfilerStep#0", 0, 400'000);
  r.rows().launch(1, 0, 1000);
  r.comm(all_gather_kernel, 2000, 50'000, {.name = "_allgather_base"});
  r.comm("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL()", 60'000, 90'000,
         {.name = "_reduce_scatter_base"});
  const Analyzed a(std::move(r));
  EXPECT_TRUE(unit_waits_json(a.job).is_null());
  EXPECT_TRUE(unit_waits_text(a.job, 100).empty());
  const auto warning = unit_waits_warning(a.job);
  ASSERT_TRUE(warning);
  EXPECT_NE(warning->find("with_stack=True"), std::string::npos);
}

}  // namespace
}  // namespace stepscope
