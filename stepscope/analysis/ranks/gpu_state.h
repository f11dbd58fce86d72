// SPDX-License-Identifier: Apache-2.0
// What a GPU's readings say about a span of time. A reading stands from its instant until the next
// one of its GPU, at most for twice the median distance of its GPU's readings. Means are weighted
// with the time that readings stand for within the span.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "stepscope/base/quantity.h"
#include "stepscope/event/clock_correction.h"
#include "stepscope/event/gpu_log.h"

namespace stepscope {

class WeightedMean {
 public:
  void add(double value, Ns weight) {
    const auto w = static_cast<double>(weight.count());
    if (w <= 0) return;
    least_ = weight_ > 0 ? std::min(least_, value) : value;
    most_ = weight_ > 0 ? std::max(most_, value) : value;
    weight_ += w;
    sum_ += w * value;
  }
  void add(const WeightedMean& other) {
    if (other.weight_ <= 0) return;
    least_ = weight_ > 0 ? std::min(least_, other.least_) : other.least_;
    most_ = weight_ > 0 ? std::max(most_, other.most_) : other.most_;
    weight_ += other.weight_;
    sum_ += other.sum_;
  }
  // Absent: nothing was read.
  [[nodiscard]] std::optional<double> mean() const { return known(sum_ / weight_); }
  [[nodiscard]] std::optional<double> least() const { return known(least_); }
  [[nodiscard]] std::optional<double> most() const { return known(most_); }

 private:
  [[nodiscard]] std::optional<double> known(double value) const {
    return weight_ > 0 ? std::optional(value) : std::nullopt;
  }
  double weight_ = 0;
  double sum_ = 0;
  double least_ = 0;
  double most_ = 0;
};

struct GpuState {
  Ns span{};     // the time asked about
  Ns covered{};  // of it, the time that readings stand for
  std::size_t readings = 0;
  WeightedMean sm_clock_mhz;
  WeightedMean memory_clock_mhz;
  WeightedMean power_watts;
  WeightedMean temperature_celsius;
  WeightedMean utilization;
  WeightedMean sm_active;
  WeightedMean tensor_active;
  WeightedMean dram_active;
  std::array<WeightedMean, clock_reason_count> reasons;  // share of the time in which one is active

  void add(const GpuState& other);
  // Whether readings stand for at least half of the span.
  [[nodiscard]] bool tells() const { return covered > Ns{0} && 2 * covered >= span; }
};

struct TimeSpan {
  Ns start{};
  Ns end{};
};

// One state a span. `readings` are of one GPU in time order; `zone` is subtracted from their
// instants, then `correction` is applied. Spans are in time order and do not overlap.
[[nodiscard]] std::vector<GpuState> gpu_states(std::span<const GpuReading> readings, Ns zone,
                                               const ClockCorrection& correction,
                                               std::span<const TimeSpan> spans);

}  // namespace stepscope
