// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/ranks/gpu_state.h"

#include <vector>

#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

void add_reading(const GpuReading& r, Ns stands, GpuState& state) {
  const auto add = [&](WeightedMean& mean, const std::optional<float>& value) {
    if (value) mean.add(static_cast<double>(*value), stands);
  };
  state.covered += stands;
  ++state.readings;
  add(state.sm_clock_mhz, r.sm_clock_mhz);
  add(state.memory_clock_mhz, r.memory_clock_mhz);
  add(state.power_watts, r.power_watts);
  add(state.temperature_celsius, r.temperature_celsius);
  add(state.utilization, r.utilization);
  add(state.sm_active, r.sm_active);
  add(state.tensor_active, r.tensor_active);
  add(state.dram_active, r.dram_active);
  for (std::size_t b = 0; b < clock_reason_count; ++b) {
    const std::uint32_t bit = bit_of(static_cast<ClockReason>(b));
    if ((r.reasons_known & bit) != 0) state.reasons[b].add((r.reasons & bit) != 0 ? 1 : 0, stands);
  }
}

// Of the readings of one GPU; absent with fewer than two.
std::optional<Ns> median_distance(std::span<const GpuReading> readings) {
  std::vector<Ns> distances;
  for (std::size_t i = 1; i < readings.size(); ++i)
    if (const Ns d = readings[i].time - readings[i - 1].time; d > Ns{0}) distances.push_back(d);
  if (distances.empty()) return std::nullopt;
  return upper_median(distances);
}

}  // namespace

void GpuState::add(const GpuState& other) {
  span += other.span;
  covered += other.covered;
  readings += other.readings;
  sm_clock_mhz.add(other.sm_clock_mhz);
  memory_clock_mhz.add(other.memory_clock_mhz);
  power_watts.add(other.power_watts);
  temperature_celsius.add(other.temperature_celsius);
  utilization.add(other.utilization);
  sm_active.add(other.sm_active);
  tensor_active.add(other.tensor_active);
  dram_active.add(other.dram_active);
  for (std::size_t b = 0; b < clock_reason_count; ++b) reasons[b].add(other.reasons[b]);
}

std::vector<GpuState> gpu_states(std::span<const GpuReading> readings, Ns zone,
                                 const ClockCorrection& correction,
                                 std::span<const TimeSpan> spans) {
  std::vector<GpuState> states(spans.size());
  for (std::size_t s = 0; s < spans.size(); ++s) states[s].span = spans[s].end - spans[s].start;
  // A single reading stands for a second.
  const Ns longest = 2 * median_distance(readings).value_or(std::chrono::milliseconds{500});
  std::size_t first = 0;  // no reading stands for a span before it
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const Ns from = correction(readings[i].time - zone);
    Ns until = from + longest;
    if (i + 1 < readings.size()) until = std::min(until, correction(readings[i + 1].time - zone));
    while (first < spans.size() && spans[first].end <= from) ++first;
    for (std::size_t s = first; s < spans.size() && spans[s].start < until; ++s) {
      const Ns stands = std::min(until, spans[s].end) - std::max(from, spans[s].start);
      if (stands > Ns{0}) add_reading(readings[i], stands, states[s]);
    }
  }
  return states;
}

}  // namespace stepscope
