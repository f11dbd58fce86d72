// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/clock_cause.h"

#include <gtest/gtest.h>

#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

constexpr Ns step_time{100};

// A job whose ranks have one GPU each; their clocks are in every step, `late_mhz` from the third
// on.
struct ClockJob {
  JobResult job;

  ClockJob() { job.gpus = GpuEvidence{}; }
  GpuOfRank& add(int rank, double mhz, std::optional<double> late_mhz = std::nullopt,
                 Ns covered = step_time) {
    RankResult& r = job.ranks.emplace_back();
    r.rank = rank;
    r.device.name = "NVIDIA H100";
    GpuOfRank& gpu = job.gpus->ranks.emplace_back();
    gpu.rank = rank;
    for (int s = 0; s < 4; ++s) {
      r.steps.emplace_back().index = 10 + s;
      GpuState& state = gpu.steps.emplace_back();
      state.span = step_time;
      state.covered = covered;
      state.sm_clock_mhz.add(s < 2 ? mhz : late_mhz.value_or(mhz), covered);
      gpu.whole.add(state);
    }
    return gpu;
  }
  static void limit(GpuOfRank& gpu, ClockReason reason, double share) {
    for (std::size_t b = 0; b < clock_reason_count; ++b) {
      const bool on = static_cast<ClockReason>(b) == reason;
      for (GpuState& s : gpu.steps)
        if (on || !s.reasons[b].mean()) s.reasons[b].add(on ? share : 0, s.covered);
      gpu.whole.reasons[b].add(on ? share : 0, step_time);
    }
  }
};

TEST(ClockCause, SaysThatALowerClockExplainsTheKernels) {
  ClockJob made;
  ClockJob::limit(made.add(0, 1200), ClockReason::hw_thermal_slowdown, 0.93);
  for (const int rank : {1, 2, 3})
    ClockJob::limit(made.add(rank, 1980), ClockReason::hw_thermal_slowdown, 0);
  const auto cause = clock_cause(made.job, 0, 1.6, std::nullopt);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->verdict, ClockVerdict::lower);
  EXPECT_EQ(cause->peers, 3U);
  ASSERT_EQ(cause->reasons.size(), 1U);
  EXPECT_EQ(say_stopped(cause->sentence),
            "The SM clock of rank 0 is 1.20 GHz against 1.98 GHz of its peers (median), limited by "
            "hardware thermal slowdown in 93.0 % of the time (peers 0.0 %).");
  EXPECT_NE(say(advice_for_clock(*cause)).find("cooling"), std::string::npos);
}

TEST(ClockCause, SaysHowMuchALowerClockExplains) {
  ClockJob made;
  made.add(0, 1800);
  made.add(1, 1980);
  const auto cause = clock_cause(made.job, 0, 1.6, std::nullopt);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->verdict, ClockVerdict::part);
  EXPECT_EQ(say_stopped(cause->sentence),
            "The SM clock of rank 0 is 1.80 GHz against 1.98 GHz of its peer; it accounts for at "
            "most 1.10 × of the 1.60 ×.");
}

TEST(ClockCause, SpeaksAgainstTheClockWhereItIsThatOfThePeers) {
  for (const double mhz : {1980.0, 1930.0, 2100.0}) {
    ClockJob made;
    ClockJob::limit(made.add(0, mhz), ClockReason::sw_power_cap, 1);
    made.add(1, 1980);
    const auto cause = clock_cause(made.job, 0, 1.6, std::nullopt);
    ASSERT_TRUE(cause);
    EXPECT_EQ(cause->verdict, ClockVerdict::alike);
    EXPECT_TRUE(cause->reasons.empty());
    EXPECT_NE(say_stopped(cause->sentence).find("do not show the clock as the cause"),
              std::string::npos);
  }
}

TEST(ClockCause, LooksAtTheSlowStepsAlone) {
  ClockJob made;
  made.add(0, 1980, 1200);
  made.add(1, 1980);
  const auto all = clock_cause(made.job, 0, 1.6, std::nullopt);
  const auto late = clock_cause(made.job, 0, 1.6, 12);
  ASSERT_TRUE(all && late);
  EXPECT_DOUBLE_EQ(all->clock_mhz, 1590);
  EXPECT_DOUBLE_EQ(late->clock_mhz, 1200);
}

TEST(ClockCause, IsSilentWithoutReadingsOfBothSides) {
  ClockJob made;
  made.add(0, 1200);
  EXPECT_FALSE(clock_cause(made.job, 0, 1.6, std::nullopt));  // no peer
  made.add(1, 1980, std::nullopt, Ns{49});
  EXPECT_FALSE(clock_cause(made.job, 0, 1.6, std::nullopt));  // readings for half of its steps
  made.add(2, 1980);
  made.job.ranks[2].device.name = "NVIDIA A100";
  EXPECT_FALSE(clock_cause(made.job, 0, 1.6, std::nullopt));  // another GPU
  made.add(3, 1980);
  EXPECT_TRUE(clock_cause(made.job, 0, 1.6, std::nullopt));
  EXPECT_FALSE(clock_cause(made.job, 1, 1.6, std::nullopt));
  EXPECT_FALSE(clock_cause(made.job, 9, 1.6, std::nullopt));
  made.job.gpus.reset();
  EXPECT_FALSE(clock_cause(made.job, 0, 1.6, std::nullopt));
}

TEST(ClockCause, ComparesWithinTheRoleIfItCan) {
  ClockJob made;
  made.add(0, 1500);
  made.add(1, 1980);
  made.add(2, 1500);
  for (RankResult& r : made.job.ranks) r.role = r.rank == 1 ? "pp1" : "pp0";
  EXPECT_EQ(clock_cause(made.job, 0, 1.6, std::nullopt)->verdict, ClockVerdict::alike);
  EXPECT_EQ(clock_cause(made.job, 1, 1.6, std::nullopt)->peers, 2U);
}

TEST(ClockCause, KeepsOneOfTheTwoBitsOfTheHardware) {
  ClockJob made;
  GpuOfRank& hot = made.add(0, 1200);
  ClockJob::limit(hot, ClockReason::hw_slowdown, 1);
  made.add(1, 1980);
  EXPECT_EQ(clock_cause(made.job, 0, 1.6, std::nullopt)->reasons.front().reason,
            ClockReason::hw_slowdown);
  for (GpuState& s : made.job.gpus->ranks[0].steps) {
    s.reasons[static_cast<std::size_t>(ClockReason::hw_power_brake)] = {};
    s.reasons[static_cast<std::size_t>(ClockReason::hw_power_brake)].add(1, step_time);
  }
  const auto cause = clock_cause(made.job, 0, 1.6, std::nullopt);
  ASSERT_EQ(cause->reasons.size(), 1U);
  EXPECT_EQ(cause->reasons.front().reason, ClockReason::hw_power_brake);
  EXPECT_NE(say(advice_for_clock(*cause)).find("power supply"), std::string::npos);
}

TEST(FindClocks, NamesGpusThatProtectThemselves) {
  ClockJob made;
  ClockJob::limit(made.add(0, 1200), ClockReason::hw_thermal_slowdown, 0.5);
  ClockJob::limit(made.add(1, 1980), ClockReason::sw_power_cap, 1);
  ClockJob::limit(made.add(2, 1980), ClockReason::sw_thermal_slowdown, 0.05);
  const FindingContext context{.job = made.job};
  FindingList list(context);
  find_clocks(list);
  const auto found = list.take();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, "gpu_slowdown");
  EXPECT_FALSE(found[0].gain);
  ASSERT_EQ(found[0].evidence.size(), 1U);
  EXPECT_NE(say(found[0].evidence[0]).find("hardware thermal slowdown in 50.0 %"),
            std::string::npos);
}

}  // namespace
}  // namespace stepscope
