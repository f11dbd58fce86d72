// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/step_rates.h"

#include <gtest/gtest.h>

#include "stepscope/diagnose/analysis_test_builder.h"

namespace stepscope {
namespace {

using enum BudgetCategory;

Overlap overlap_of(std::int64_t compute, std::int64_t comm, std::int64_t both) {
  Overlap o;
  o.compute = Ns{compute};
  o.comm = Ns{comm};
  o.overlap = Ns{both};
  return o;
}

CollectiveRow row(CollectiveKind kind, std::optional<std::int64_t> transfer, double busbw) {
  CollectiveRow r;
  r.kind = kind;
  if (transfer) r.transfer = Ns{*transfer};
  if (busbw > 0) r.busbw = ByteRate{busbw};
  return r;
}

TEST(StepRates, OfATraceWithoutShapesOrCommunicationAreNotKnown) {
  TestReport t({{{compute, 60}, {idle_host, 40}}});
  const StepRates rates = step_rates(t.report);
  EXPECT_FALSE(rates.achieved);
  EXPECT_FALSE(rates.overlap_efficiency);
  EXPECT_EQ(rates.collective, nullptr);
  EXPECT_FALSE(rates.link_share);
}

TEST(StepRates, AreWorkOverTheTimeOfTheSteps) {
  TestReport t({{{compute, 60}}, {{compute, 60}}});
  double seconds = 0;
  for (RankResult& r : t.report.job.ranks) {
    for (const Step& s : r.steps) seconds += Seconds(s.end - s.start).count();
    ExecutedStep step;
    step.products[0].flops = Flops{3e12};
    r.work.executed.steps = {step};
  }
  const StepRates rates = step_rates(t.report);
  ASSERT_TRUE(rates.achieved);
  EXPECT_DOUBLE_EQ(rates.achieved->value, 2 * 3e12 / seconds);
  EXPECT_FALSE(rates.achieved_is_least);
  t.report.job.ranks[1].work.executed.steps[0].products[1].unknown_time = Ns{1};
  EXPECT_TRUE(step_rates(t.report).achieved_is_least);
  // The MFU budget's figure, where there is one: both must agree on the screen.
  t.report.mfu.emplace().peak = FlopRate{100e12};
  t.report.mfu->hfu = 0.25;
  EXPECT_DOUBLE_EQ(step_rates(t.report).achieved->value, 25e12);
  EXPECT_DOUBLE_EQ(step_rates(t.report).peak->value, 100e12);
}

TEST(StepRates, OverlapIsOfWhatCouldBeHiddenOnAllRanks) {
  TestReport t({{{compute, 60}}, {{compute, 60}}});
  t.report.job.ranks[0].work.overlap = overlap_of(100, 40, 30);
  t.report.job.ranks[1].work.overlap = overlap_of(20, 80, 10);
  EXPECT_DOUBLE_EQ(*step_rates(t.report).overlap_efficiency, 40.0 / 60.0);
  t.report.job.ranks[0].work.overlap = overlap_of(0, 40, 0);
  t.report.job.ranks[1].work.overlap.reset();
  EXPECT_FALSE(step_rates(t.report).overlap_efficiency);
}

TEST(StepRates, ExposedCommunicationIsAShareOfTheStepByDimension) {
  TestReport t({{{compute, 60}}, {{compute, 60}}});
  EXPECT_TRUE(step_rates(t.report).exposed.empty());
  constexpr auto tp = static_cast<std::size_t>(Dimension::tp);
  for (RankResult& r : t.report.job.ranks) {
    Step step;
    step.end = Ns{200};
    r.counted.steps = {step};
    r.counted.classes.resize(1);
    r.counted.classes[0].transfer[tp] = Ns{30};
    r.counted.classes[0].wait[tp] = Ns{20};
  }
  const std::vector<double> exposed = step_rates(t.report).exposed;
  EXPECT_DOUBLE_EQ(exposed.at(tp), 0.25);
  EXPECT_DOUBLE_EQ(exposed.at(0), 0);
}

TEST(StepRates, TheCollectiveIsTheOneWithMostTransferThatHasABandwidth) {
  TestReport t({{{compute, 60}}});
  t.report.job.collectives.rows = {
      row(CollectiveKind::all_gather, 50, 4e9), row(CollectiveKind::all_reduce, 90, 7e9),
      row(CollectiveKind::broadcast, 900, 0), row(CollectiveKind::reduce_scatter, {}, 9e9)};
  const StepRates rates = step_rates(t.report);
  ASSERT_NE(rates.collective, nullptr);
  EXPECT_EQ(rates.collective->kind, CollectiveKind::all_reduce);
}

}  // namespace
}  // namespace stepscope
