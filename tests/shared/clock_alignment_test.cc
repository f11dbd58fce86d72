// SPDX-License-Identifier: Apache-2.0
// Clocks of real runs: the decisions about them as recorded, and planted offsets and drift that
// must be found again. Prints both as tables.
#include "stepscope/analysis/matching/clock_alignment.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <deque>

#include "stepscope/read/files/read_trace.h"
#include "stepscope/say/say.h"
#include "tests/shared/shared_data.h"

namespace stepscope::shared {
namespace {

class RealClocks : public SharedData {
 protected:
  [[nodiscard]] stepscope::Run read(const std::string& name) const {
    for (const TracedRun& run : runs(root))
      if (run.name == name)
        return read_run(std::vector<std::string>(run.files.begin(), run.files.end()));
    return {};
  }
};

ClockAlignment aligned(const stepscope::Run& run) {
  std::deque<RankIndex> indices;
  std::deque<std::vector<Step>> steps;
  std::vector<RankView> views;
  for (const RankTrace& r : run.ranks) {
    indices.push_back(index_rank(r.trace));
    steps.push_back(find_steps(r.trace, indices.back()));
    views.push_back({r.rank, &r.trace, &indices.back(), steps.back()});
  }
  return align_clocks(views, match_collectives(views, {.world_size = run.world_size}));
}

void tell_hosts_apart(stepscope::Run& run) {
  for (RankTrace& r : run.ranks)
    r.trace.metadata.texts["host_name"] = "host" + std::to_string(r.rank);
}

// Shifts the clock of the last rank ahead by `offset` in the middle of its window, and adds drift.
void plant(stepscope::Run& run, Ns offset, double drift) {
  Trace& trace = run.ranks.back().trace;
  const RankIndex index = index_rank(trace);
  apply_clock(
      trace,
      {.offset = -offset, .drift = -drift, .at = index.start + (index.end - index.start) / 2});
}

double us(Ns t) { return static_cast<double>(t.count()) / 1000; }

struct Decision {
  const char* run;
  bool applied;  // with one clock per rank
};
// In torchrec-resnet18 the GPU clocks of one host differ by 31 us, four times the duration of its
// all-to-alls. In the larger torchrec runs they differ by similar amounts, but the ends scatter by
// more than that.
constexpr std::array decisions = {
    Decision{"megatron-tp2-et", false},
    Decision{"param-dlrm", false},
    Decision{"torchrec-resnet18", true},
    Decision{"torchrec-sleep_pl_dense_after_backward_2", false},
    Decision{"torchrec-long_a2a_optimizer_5", false},
    Decision{"torchrec-long_a2a_optimizer_5_qcomm-r0", false},
    Decision{"torch113-ddp", false},
    Decision{"torch113-zero1", false},
    Decision{"torch113-zero3", false},
};

TEST_F(RealClocks, ClocksAsRecordedAreAlignedOnlyWhereTheyDiffer) {
  std::printf(
      "| run | as recorded | a clock a rank: applied | why | spread us | aligned us | offsets us "
      "|\n");
  std::printf("|---|---|---|---|---|---|---|\n");
  for (const Decision& expected : decisions) {
    stepscope::Run run = read(expected.run);
    ASSERT_FALSE(run.ranks.empty()) << expected.run;
    const ClockAlignment recorded = aligned(run);
    EXPECT_FALSE(recorded.applied && recorded.hosts.size() < 2);
    tell_hosts_apart(run);
    const ClockAlignment found = aligned(run);
    EXPECT_EQ(found.applied, expected.applied) << expected.run << ": " << say(found.reason);
    std::string offsets;
    for (const HostAlignment& h : found.hosts)
      offsets += h.offset ? std::to_string(std::llround(us(*h.offset))) + " " : "- ";
    std::printf("| %s | %s | %s | %s | %.1f | %.1f | %s|\n", expected.run,
                say(recorded.reason).c_str(), found.applied ? "yes" : "no",
                say(found.reason).c_str(), us(found.spread.value_or(Ns{0})),
                us(found.spread_aligned.value_or(Ns{0})), offsets.c_str());
  }
}

TEST_F(RealClocks, PlantedOffsetsAreFoundAgain) {
  constexpr std::array runs_with_clocks = {"megatron-tp2-et",
                                           "param-dlrm",
                                           "torchrec-resnet18",
                                           "torchrec-sleep_pl_dense_after_backward_2",
                                           "torchrec-long_a2a_optimizer_5",
                                           "torchrec-long_a2a_optimizer_5_qcomm-r0"};
  constexpr std::array planted = {Ns{100'000}, Ns{-2'000'000}, Ns{50'000'000}, Ns{7'000'000'000}};
  std::printf(
      "| run | as recorded us | planted us | found us | error us | said "
      "|\n|---|---|---|---|---|---|\n");
  for (const char* name : runs_with_clocks) {
    stepscope::Run unchanged = read(name);
    tell_hosts_apart(unchanged);
    const Ns before = aligned(unchanged).hosts.back().offset.value_or(Ns{0});
    for (const Ns offset : planted) {
      stepscope::Run run = read(name);
      tell_hosts_apart(run);
      plant(run, offset, 0);
      const ClockAlignment found = aligned(run);
      const HostAlignment& host = found.hosts.back();
      EXPECT_TRUE(found.applied) << name << " " << offset.count() << ": " << say(found.reason);
      if (!host.offset) continue;
      const double error = us(*host.offset - before - offset);
      std::printf("| %s | %.1f | %.0f | %.1f | %.2f | ± %.1f |\n", name, us(before), us(offset),
                  us(*host.offset), error, us(host.uncertainty.value_or(Ns{0})));
      EXPECT_LT(std::abs(error), 10) << name << " " << offset.count();
    }
  }
}

// Over three seconds. In a window of 0.8 s with ends that scatter by 60 us, drift cannot be
// detected.
TEST_F(RealClocks, PlantedDriftIsFoundAgain) {
  std::printf(
      "| run | planted ppm | found ppm | error at the window's end us |\n|---|---|---|---|\n");
  for (const char* name :
       {"torchrec-sleep_pl_dense_after_backward_2", "torchrec-long_a2a_optimizer_5"})
    for (const double ppm : {200.0, -100.0, 40.0}) {
      stepscope::Run run = read(name);
      tell_hosts_apart(run);
      plant(run, Ns{500'000}, ppm * 1e-6);
      const ClockAlignment found = aligned(run);
      EXPECT_TRUE(found.applied) << say(found.reason);
      const RankIndex index = index_rank(run.ranks.back().trace);
      const double half = us(index.end - index.start) / 2;
      const double drift = found.hosts.back().drift_ppm;
      std::printf("| %s | %.0f | %.1f | %.1f |\n", name, ppm, drift, (drift - ppm) * 1e-6 * half);
      if (std::string_view(name).starts_with("torchrec-sleep")) {
        EXPECT_NEAR(drift, ppm, 10) << name;
      } else {
        EXPECT_EQ(drift, 0) << name;
      }
    }
}

}  // namespace
}  // namespace stepscope::shared
