// SPDX-License-Identifier: Apache-2.0
// Finds the step that contains an instant.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>

#include "stepscope/analysis/steps/steps.h"

namespace stepscope {

// Index into `steps` (in time order, disjoint) of the step with start <= t < end. O(log steps).
[[nodiscard]] inline std::optional<std::size_t> step_at(std::span<const Step> steps, Ns t) {
  const auto after = std::ranges::upper_bound(steps, t, {}, &Step::start);
  if (after == steps.begin() || t >= std::prev(after)->end) return std::nullopt;
  return static_cast<std::size_t>(std::prev(after) - steps.begin());
}

// The same for host rows: the step whose annotation contains t.
[[nodiscard]] inline std::optional<std::size_t> step_of_host(std::span<const Step> steps, Ns t) {
  const auto after = std::ranges::upper_bound(steps, t, {}, &Step::host_start);
  if (after == steps.begin() || t >= std::prev(after)->host_end) return std::nullopt;
  return static_cast<std::size_t>(std::prev(after) - steps.begin());
}

}  // namespace stepscope
