// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "stepscope/diagnose/analysis_test_builder.h"
#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

// Three ranks of four steps of 100 ns each: 10 to 13.
JobResult job_with(StepFault fault) {
  JobResult job;
  for (int rank = 0; rank < 3; ++rank) {
    RankResult& r = job.ranks.emplace_back();
    r.rank = rank;
    r.device.kind = "cuda";
    for (std::int64_t i = 0; i < 4; ++i) {
      Step& s = r.steps.emplace_back();
      s.index = 10 + i;
      s.start = Ns{100 * i};
      s.end = Ns{100 * (i + 1)};
    }
  }
  Explanation& e = job.explanation.emplace();
  e.step = Ns{100};
  fault.gain = Ns{20};
  e.faults.push_back(std::move(fault));
  record_everything(job);
  return job;
}

std::string advice_in(const JobResult& job) {
  const FindingContext context{.job = job};
  FindingList list(context);
  find_faults(list);
  const std::vector<Finding> findings = list.take();
  return findings.empty() ? "" : say(findings.front().advice);
}

TEST(FaultAdvice, OfARankThatStaysSlowEndsWithItsNodeAndTheLastResort) {
  const std::string leave_out = "replace its node or run without it (srun --exclude";
  for (const auto kind : {StepFaultKind::slow_rank, StepFaultKind::late_host}) {
    JobResult job = job_with({.kind = kind, .ranks = {1}});
    const std::string advice = advice_in(job);
    EXPECT_NE(advice.find(leave_out), std::string::npos) << advice;
    EXPECT_NE(advice.find("The last resort changes the training: asynchronous or local SGD"),
              std::string::npos);
    job.ranks[1].steps.pop_back();  // too few to say that it stays
    EXPECT_EQ(advice_in(job).find(leave_out), std::string::npos);
  }
  for (const StepFault& other :
       {StepFault{.kind = StepFaultKind::slow_rank, .ranks = {0, 1}},
        StepFault{.kind = StepFaultKind::throttling, .ranks = {1}, .steps = {12}},
        StepFault{.kind = StepFaultKind::data_loader, .ranks = {1}}})
    EXPECT_EQ(advice_in(job_with(other)).find(leave_out), std::string::npos);
}

using Place = std::tuple<int, std::int64_t, std::int64_t>;  // rank, start, time

std::vector<Place> places_in(const JobResult& job) {
  const FindingContext context{.job = job};
  FindingList list(context);
  find_faults(list);
  std::vector<Place> places;
  const std::vector<Finding> findings = list.take();
  EXPECT_EQ(findings.size(), 1U);
  if (findings.empty()) return places;
  for (const FindingPlace& p : findings.front().places)
    places.emplace_back(p.rank, p.start.count(), p.time.count());
  return places;
}

using Places = std::vector<Place>;

TEST(FaultPlaces, OfARankAreItsSteps) {
  EXPECT_EQ(places_in(job_with({.kind = StepFaultKind::slow_rank, .ranks = {1}})),
            (Places{{1, 0, 100}, {1, 100, 100}, {1, 200, 100}, {1, 300, 100}}));
}

TEST(FaultPlaces, OfThrottlingBeginWithItsStep) {
  EXPECT_EQ(places_in(job_with({.kind = StepFaultKind::throttling, .ranks = {2}, .steps = {12}})),
            (Places{{2, 200, 100}, {2, 300, 100}}));
}

TEST(FaultPlaces, OfAnOutlierAreThatStepOfAllRanks) {
  EXPECT_EQ(places_in(job_with({.kind = StepFaultKind::outlier_step, .steps = {11}})),
            (Places{{0, 100, 100}, {1, 100, 100}, {2, 100, 100}}));
}

TEST(FaultPlaces, OfPausesAreThePauses) {
  EXPECT_EQ(places_in(job_with({.kind = StepFaultKind::pauses,
                                .ranks = {0, 2},
                                .steps = {10, 12},
                                .places = {{0, Ns{30}, Ns{9}}, {2, Ns{210}, Ns{8}}}})),
            (Places{{0, 30, 9}, {2, 210, 8}}));
}

TEST(FaultPlaces, OfAGroupAreItsLongestTransferInEachStep) {
  JobResult job = job_with({.kind = StepFaultKind::slow_group, .ranks = {0, 1}, .group = 0});
  job.collectives.matches.groups = {{.name = "tp0", .ranks = {0, 1}, .size = 2},
                                    {.name = "tp1", .ranks = {2, 3}, .size = 2}};
  job.collectives.dimension_of = {Dimension::tp, Dimension::tp};
  job.collectives.matches.ranks.resize(3);
  const auto call = [&](std::size_t view, std::uint32_t group, std::int64_t start,
                        std::int64_t end) {
    CollectiveCall& c = job.collectives.matches.ranks[view].calls.emplace_back();
    c.group = group;
    c.start = Ns{start};
    c.end = Ns{end};
  };
  call(0, 0, 10, 20);
  call(0, 0, 30, 60);
  call(0, 1, 70, 99);
  call(0, 0, 110, 130);
  call(1, 0, 410, 440);  // after the last step
  call(2, 0, 10, 20);    // not of the group's ranks
  EXPECT_EQ(places_in(job), (Places{{0, 30, 30}, {0, 110, 20}}));
}

TEST(FaultPlaces, OfWhatAllRanksAndStepsHaveAreNone) {
  EXPECT_TRUE(places_in(job_with({.kind = StepFaultKind::sync_calls})).empty());
  EXPECT_TRUE(places_in(job_with({.kind = StepFaultKind::data_loader})).empty());
}

}  // namespace
}  // namespace stepscope
