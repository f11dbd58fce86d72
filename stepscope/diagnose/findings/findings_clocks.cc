// SPDX-License-Identifier: Apache-2.0
// GPUs that slow down to protect themselves, by the readings of logs beside the traces.
#include <algorithm>

#include "stepscope/diagnose/culprit.h"
#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/diagnose/thresholds.h"

namespace stepscope {
namespace {

constexpr std::size_t most_slowed_rows = 4;

struct SlowedGpu {
  const GpuOfRank* gpu = nullptr;
  ClockReason reason{};
  double share = 0;
};

// The protection that is active for longest. The bit of the hardware's slowdown counts where
// neither of its two causes is known to be the reason.
std::optional<SlowedGpu> slowed(const GpuOfRank& gpu) {
  std::optional<SlowedGpu> most;
  for (std::size_t b = 0; b < clock_reason_count; ++b) {
    const auto reason = static_cast<ClockReason>(b);
    const auto share = gpu.whole.reasons[b].mean();
    if (!is_protection(reason) || !share || *share < threshold::clock_limited) continue;
    if (!most || *share > most->share || most->reason == ClockReason::hw_slowdown)
      most = SlowedGpu{.gpu = &gpu, .reason = reason, .share = *share};
  }
  return most;
}

// Ranks whose lower clock is a fault's cause already.
std::vector<int> told_by_faults(const JobResult& job) {
  std::vector<int> ranks;
  if (!replay_tells(job)) return ranks;
  for (const Culprit& c : find_culprits(job))
    if (c.clock && c.clock->verdict != ClockVerdict::alike)
      ranks.insert(ranks.end(), c.ranks.begin(), c.ranks.end());
  return ranks;
}

Message slowed_in_words(const SlowedGpu& s) {
  const GpuState& state = s.gpu->whole;
  const auto ghz = [](std::optional<double> mhz) {
    return mhz ? Value(Digits{*mhz / 1000}) : Value();
  };
  return msg::gpu_slowed(s.gpu->rank, in_words(s.reason), Percent{s.share},
                         ghz(state.sm_clock_mhz.mean()), ghz(s.gpu->gpu.max_sm_clock_mhz),
                         digits_of(state.temperature_celsius.mean()),
                         digits_of(state.power_watts.mean()));
}

}  // namespace

void find_clocks(FindingList& list) {
  if (!list.job().gpus) return;
  std::vector<SlowedGpu> all;
  const std::vector<int> told = told_by_faults(list.job());
  for (const GpuOfRank& gpu : list.job().gpus->ranks)
    if (gpu.whole.tells() && std::ranges::find(told, gpu.rank) == told.end())
      if (const auto one = slowed(gpu)) all.push_back(*one);
  if (all.empty()) return;
  std::ranges::stable_sort(all, std::ranges::greater{}, &SlowedGpu::share);
  std::vector<int> ranks;
  for (const SlowedGpu& s : all) ranks.push_back(s.gpu->rank);
  std::ranges::sort(ranks);
  Finding f;
  f.id = "gpu_slowdown";
  f.sort = FindingSort::fault;
  f.what = msg::found_slowdown(ranks);
  for (const SlowedGpu& s : all)
    if (f.evidence.size() < most_slowed_rows) f.evidence.push_back(slowed_in_words(s));
  ClockCause cause{.verdict = ClockVerdict::lower};
  cause.reasons.push_back({all.front().reason, all.front().share, std::nullopt});
  f.advice = advice_for_clock(cause);
  list.add(std::move(f));
}

}  // namespace stepscope
