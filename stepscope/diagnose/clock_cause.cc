// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/clock_cause.h"

#include <fmt/format.h>

#include <algorithm>

#include "stepscope/diagnose/thresholds.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"

namespace stepscope {
namespace {

const GpuOfRank* gpu_of_rank(const JobResult& job, int rank) {
  if (!job.gpus) return nullptr;
  const auto at = std::ranges::find(job.gpus->ranks, rank, &GpuOfRank::rank);
  return at == job.gpus->ranks.end() ? nullptr : &*at;
}

// Of the rank's steps from a step on.
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
    if (r.rank == own.rank || gpu == nullptr || r.gpu_name != own.gpu_name) continue;
    if (same_role && r.role != own.role) continue;
    const GpuState state = state_from(r, *gpu, first_step);
    if (state.tells() && state.sm_clock_mhz.mean()) peers.push_back(state);
  }
  return peers;
}

std::optional<double> median_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

template <class Of>
std::optional<double> median_over(const std::vector<GpuState>& states, Of&& of) {
  std::vector<double> values;
  for (const GpuState& s : states)
    if (const std::optional<double> value = of(s)) values.push_back(*value);
  return median_of(std::move(values));
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

std::string reasons_in_words(const ClockCause& cause) {
  std::string text;
  for (const ActiveReason& r : cause.reasons) {
    text += fmt::format("{}{} in {} of the time", text.empty() ? "" : ", ", in_words(r.reason),
                        format_percent(r.share));
    if (r.peers_share) text += fmt::format(" (peers {})", format_percent(*r.peers_share));
  }
  return text;
}

std::string sentence_of_clock(const ClockCause& c, int rank, double ratio) {
  const std::string_view peers = c.peers == 1 ? "its peer" : "its peers (median)";
  std::string text = fmt::format("The SM clock of rank {} is {} against {} of {}", rank,
                                 format_clock(c.clock_mhz), format_clock(c.peers_mhz), peers);
  if (c.verdict == ClockVerdict::alike)
    return text + ": the readings do not show the clock as the cause.";
  if (const std::string reasons = reasons_in_words(c); !reasons.empty())
    text += ", limited by " + reasons;
  if (c.verdict == ClockVerdict::part)
    text += fmt::format("; it accounts for at most {:.2f} × of the {:.2f} ×",
                        c.peers_mhz / c.clock_mhz, ratio);
  return text + ".";
}

}  // namespace

std::string_view in_words(ClockReason reason) {
  switch (reason) {
    case ClockReason::idle:
      return "an idle GPU";
    case ClockReason::applications_clocks:
      return "the setting of the application clocks";
    case ClockReason::sw_power_cap:
      return "the power limit";
    case ClockReason::hw_slowdown:
      return "hardware slowdown";
    case ClockReason::sync_boost:
      return "a sync boost group";
    case ClockReason::sw_thermal_slowdown:
      return "software thermal slowdown";
    case ClockReason::hw_thermal_slowdown:
      return "hardware thermal slowdown";
    case ClockReason::hw_power_brake:
      return "hardware power brake";
    case ClockReason::display_clocks:
      return "the setting of the display clocks";
  }
  return "an unknown reason";
}

bool is_protection(ClockReason reason) {
  return reason == ClockReason::hw_slowdown || reason == ClockReason::sw_thermal_slowdown ||
         reason == ClockReason::hw_thermal_slowdown || reason == ClockReason::hw_power_brake;
}

std::string format_clock(double mhz) { return fmt::format("{:.2f} GHz", mhz / 1000); }

std::string advice_for_clock(const ClockCause& cause) {
  if (cause.verdict == ClockVerdict::alike)
    return "Compare its work (shapes, batch), its memory and its links with a peer's: its clock "
           "is that of its peers";
  if (cause.reasons.empty())
    return "See what limits its clock: read clocks_event_reasons.active (nvidia-smi -q -d "
           "PERFORMANCE), and its locked clocks (nvidia-smi -q -d CLOCK)";
  switch (cause.reasons.front().reason) {
    case ClockReason::sw_thermal_slowdown:
    case ClockReason::hw_thermal_slowdown:
      return "Look at the cooling of its GPU and at its host: fans, air flow, temperature of the "
             "room, cold plate; until it is mended, leave the GPU out";
    case ClockReason::hw_power_brake:
      return "Look at the power supply of its host: the supply asked the GPU to slow down";
    case ClockReason::sw_power_cap:
      return "Compare its power limit with a peer's (nvidia-smi -q -d POWER) and set the same one "
             "(nvidia-smi -pl)";
    case ClockReason::applications_clocks:
    case ClockReason::display_clocks:
      return "Reset its application clocks (nvidia-smi -rac), or give all GPUs the same "
             "(nvidia-smi -ac)";
    case ClockReason::sync_boost:
      return "Look at the other GPUs of its sync boost group: the slowest of them sets its clock";
    case ClockReason::hw_slowdown:
      return "Look at its temperature and its power supply (nvidia-smi -q -d "
             "TEMPERATURE,POWER,PERFORMANCE)";
    case ClockReason::idle:
      return "See why its GPU idles in its steps";
  }
  return {};
}

std::optional<ClockCause> clock_cause(const JobResult& job, int rank, double ratio,
                                      std::optional<std::int64_t> first_step) {
  const auto own = std::ranges::find(job.ranks, rank, &RankResult::rank);
  const GpuOfRank* gpu = gpu_of_rank(job, rank);
  if (own == job.ranks.end() || gpu == nullptr) return std::nullopt;
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
