// SPDX-License-Identifier: Apache-2.0
// GPUs that slow down to protect themselves, by the readings of logs beside the traces.
#include <fmt/format.h>

#include <algorithm>

#include "stepscope/diagnose/culprit.h"
#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"

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

std::string slowed_in_words(const SlowedGpu& s) {
  std::string text = fmt::format("rank {}: {} in {} of the time of its steps", s.gpu->rank,
                                 in_words(s.reason), format_percent(s.share));
  if (const auto clock = s.gpu->whole.sm_clock_mhz.mean()) {
    text += fmt::format(", SM clock {}", format_clock(*clock));
    if (s.gpu->gpu.max_sm_clock_mhz)
      text += fmt::format(" of {}", format_clock(*s.gpu->gpu.max_sm_clock_mhz));
  }
  if (const auto heat = s.gpu->whole.temperature_celsius.mean())
    text += fmt::format(", {:.0f} °C", *heat);
  if (const auto power = s.gpu->whole.power_watts.mean()) text += fmt::format(", {:.0f} W", *power);
  return text;
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
  f.what =
      fmt::format("The GPU{} of {} slow{} down to protect {} from heat or for the power supply",
                  ranks.size() == 1 ? "" : "s", ranks_in_words(ranks), ranks.size() == 1 ? "s" : "",
                  ranks.size() == 1 ? "itself" : "themselves");
  for (const SlowedGpu& s : all)
    if (f.evidence.size() < most_slowed_rows) f.evidence.push_back(slowed_in_words(s));
  ClockCause cause{.verdict = ClockVerdict::lower};
  cause.reasons.push_back({all.front().reason, all.front().share, std::nullopt});
  f.advice = advice_for_clock(cause);
  list.add(std::move(f));
}

}  // namespace stepscope
