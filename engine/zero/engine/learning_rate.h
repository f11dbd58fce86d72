// SPDX-License-Identifier: Apache-2.0
// The learning rate as a function of the step.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace stepscope::zero {

enum class Decay : std::uint8_t { constant, linear, cosine };

// Rises linearly to `peak` over `warmup` steps (step s of them has peak (s + 1) / warmup), then
// stays or falls to `floor` at step `total`, and stays there. A total of 0 or below: never falls.
struct LearningRate {
  double peak = 3e-4;
  double floor = 0;
  std::int64_t warmup = 0;
  std::int64_t total = 0;
  Decay decay = Decay::constant;

  // The rate of step `step`, counted from 0.
  [[nodiscard]] double at(std::int64_t step) const {
    if (step < warmup) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
    if (decay == Decay::constant || total <= warmup) return peak;
    const double done =
        std::min(1.0, static_cast<double>(step - warmup) / static_cast<double>(total - warmup));
    const double left =
        decay == Decay::linear ? 1.0 - done : 0.5 * (1.0 + std::cos(std::numbers::pi * done));
    return floor + (peak - floor) * left;
  }
};

}  // namespace stepscope::zero
