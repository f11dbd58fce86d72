// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/clock_cause.h"

#include <algorithm>
#include <array>

#include "stepscope/diagnose/thresholds.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

const GpuOfRank* gpu_of_rank(const JobResult& job, int rank) {
  if (!job.gpus) return nullptr;
  const auto at = std::ranges::find(job.gpus->ranks, rank, &GpuOfRank::rank);
  return at == job.gpus->ranks.end() ? nullptr : &*at;
}

// The state of a rank's GPU in its steps from a step on.
GpuState state_from(const RankResult& r, const GpuOfRank& gpu,
                    std::optional<std::int64_t> first_step) {
  GpuState state;
  for (std::size_t s = 0; s < r.steps.size() && s < gpu.steps.size(); ++s)
    if (!first_step || r.steps[s].index >= *first_step) state.add(gpu.steps[s]);
  return state;
}

// The states of ranks with such a GPU, of the same role or of all.
std::vector<GpuState> peers_of(const JobResult& job, const RankResult& own,
                               std::optional<std::int64_t> first_step, bool same_role) {
  std::vector<GpuState> peers;
  for (const RankResult& r : job.ranks) {
    const GpuOfRank* gpu = gpu_of_rank(job, r.rank);
    if (r.rank == own.rank || gpu == nullptr || r.device.name != own.device.name) continue;
    if (same_role && r.role != own.role) continue;
    const GpuState state = state_from(r, *gpu, first_step);
    if (state.tells() && state.sm_clock_mhz.mean()) peers.push_back(state);
  }
  return peers;
}

template <class Of>
std::optional<double> median_over(const std::vector<GpuState>& states, Of&& of) {
  std::vector<double> values;
  for (const GpuState& s : states)
    if (const std::optional<double> value = of(s)) values.push_back(*value);
  return median(values);
}

void add_reasons(const GpuState& own, const std::vector<GpuState>& peers, ClockCause& cause) {
  for (std::size_t b = 0; b < clock_reason_count; ++b) {
    const auto share = own.reasons[b].mean();
    if (!share || *share < threshold::clock_limited) continue;
    const auto others = median_over(peers, [&](const GpuState& s) { return s.reasons[b].mean(); });
    if (others && *share < *others + threshold::clock_limited) continue;
    cause.reasons.push_back({static_cast<ClockReason>(b), *share, others});
  }
  // The hardware slowdown's own bit stands for the thermal one and the power brake.
  const auto has = [&](ClockReason reason) {
    return std::ranges::find(cause.reasons, reason, &ActiveReason::reason) != cause.reasons.end();
  };
  if (has(ClockReason::hw_thermal_slowdown) || has(ClockReason::hw_power_brake))
    std::erase_if(cause.reasons,
                  [](const ActiveReason& r) { return r.reason == ClockReason::hw_slowdown; });
  std::ranges::stable_sort(cause.reasons, std::ranges::greater{}, &ActiveReason::share);
}

Message sentence_of_clock(const ClockCause& c, int rank, double ratio) {
  Messages reasons;
  for (const ActiveReason& r : c.reasons)
    reasons.push_back(
        msg::clock_limited(in_words(r.reason), Percent{r.share}, percent_of(r.peers_share)));
  return msg::clocks_compared(
      rank, Digits{c.clock_mhz / 1000}, Digits{c.peers_mhz / 1000}, c.peers,
      c.verdict == ClockVerdict::alike, std::move(reasons),
      value_if(c.verdict == ClockVerdict::part, Digits{c.peers_mhz / c.clock_mhz}), Digits{ratio});
}

}  // namespace

Message in_words(ClockReason reason) {
  constexpr std::array<MessageMaker<0>, clock_reason_count> words = {
      msg::clock_idle,        msg::clock_applications, msg::clock_power_cap,
      msg::clock_hw_slowdown, msg::clock_sync_boost,   msg::clock_sw_thermal,
      msg::clock_hw_thermal,  msg::clock_power_brake,  msg::clock_display};
  return words[static_cast<std::size_t>(reason)]();
}

bool is_protection(ClockReason reason) {
  return reason == ClockReason::hw_slowdown || reason == ClockReason::sw_thermal_slowdown ||
         reason == ClockReason::hw_thermal_slowdown || reason == ClockReason::hw_power_brake;
}

Message advice_for_clock(const ClockCause& cause) {
  if (cause.verdict == ClockVerdict::alike) return msg::look_beyond_clock();
  if (cause.reasons.empty()) return msg::see_what_limits_clock();
  switch (cause.reasons.front().reason) {
    case ClockReason::sw_thermal_slowdown:
    case ClockReason::hw_thermal_slowdown:
      return msg::look_at_cooling();
    case ClockReason::hw_power_brake:
      return msg::look_at_power_supply();
    case ClockReason::sw_power_cap:
      return msg::compare_power_limit();
    case ClockReason::applications_clocks:
    case ClockReason::display_clocks:
      return msg::reset_clocks();
    case ClockReason::sync_boost:
      return msg::look_at_boost_group();
    case ClockReason::hw_slowdown:
      return msg::look_at_heat_and_power();
    case ClockReason::idle:
      return msg::see_why_idle();
  }
  return {};
}

std::optional<ClockCause> clock_cause(const JobResult& job, int rank, double ratio,
                                      std::optional<std::int64_t> first_step) {
  const RankResult* own = find_rank(job.ranks, rank);
  const GpuOfRank* gpu = gpu_of_rank(job, rank);
  if (own == nullptr || gpu == nullptr) return std::nullopt;
  const GpuState mine = state_from(*own, *gpu, first_step);
  const auto clock = mine.sm_clock_mhz.mean();
  if (!mine.tells() || !clock || *clock <= 0) return std::nullopt;
  std::vector<GpuState> peers = peers_of(job, *own, first_step, true);
  if (peers.empty()) peers = peers_of(job, *own, first_step, false);
  const auto of_peers = median_over(peers, [](const GpuState& s) { return s.sm_clock_mhz.mean(); });
  if (!of_peers || *of_peers <= 0) return std::nullopt;
  ClockCause cause{.clock_mhz = *clock, .peers_mhz = *of_peers, .peers = peers.size()};
  const double slower = *of_peers / *clock;
  if (*clock < (1 - threshold::clock_alike) * *of_peers)
    cause.verdict = slower - 1 >= threshold::clock_explains * (ratio - 1) ? ClockVerdict::lower
                                                                          : ClockVerdict::part;
  if (cause.verdict != ClockVerdict::alike) add_reasons(mine, peers, cause);
  cause.power_watts = mine.power_watts.mean();
  cause.temperature_celsius = mine.temperature_celsius.mean();
  cause.peers_power_watts =
      median_over(peers, [](const GpuState& s) { return s.power_watts.mean(); });
  cause.peers_temperature_celsius =
      median_over(peers, [](const GpuState& s) { return s.temperature_celsius.mean(); });
  cause.sentence = sentence_of_clock(cause, rank, ratio);
  return cause;
}

}  // namespace stepscope
