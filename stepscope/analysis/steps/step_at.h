// SPDX-License-Identifier: Apache-2.0
// Finds the step that contains an instant.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "stepscope/analysis/steps/steps.h"

namespace stepscope {

// Index into `steps` (in time order, disjoint) of the last step that has begun at t, even if it has
// ended since; -1 before all. O(log steps).
[[nodiscard]] inline std::int32_t last_step(std::span<const Step> steps, Ns t) {
  const auto after = std::ranges::upper_bound(steps, t, {}, &Step::start);
  return static_cast<std::int32_t>(after - steps.begin()) - 1;
}
// The same for host rows: the last step whose annotation has begun.
[[nodiscard]] inline std::int32_t last_step_of_host(std::span<const Step> steps, Ns t) {
  const auto after = std::ranges::upper_bound(steps, t, {}, &Step::host_start);
  return static_cast<std::int32_t>(after - steps.begin()) - 1;
}

// Index of the step with start <= t < end.
[[nodiscard]] inline std::optional<std::size_t> step_at(std::span<const Step> steps, Ns t) {
  const auto last = static_cast<std::size_t>(last_step(steps, t));
  return last < steps.size() && t < steps[last].end ? std::optional(last) : std::nullopt;
}
// The same for host rows: the step whose annotation contains t.
[[nodiscard]] inline std::optional<std::size_t> step_of_host(std::span<const Step> steps, Ns t) {
  const auto last = static_cast<std::size_t>(last_step_of_host(steps, t));
  return last < steps.size() && t < steps[last].host_end ? std::optional(last) : std::nullopt;
}

}  // namespace stepscope
