// SPDX-License-Identifier: Apache-2.0
// The three rates of a job that people ask for first: work, hidden communication, and links.
#pragma once

#include <optional>

#include "stepscope/analysis/collectives/collectives.h"
#include "stepscope/base/quantity.h"
#include "stepscope/diagnose/analysis.h"

namespace stepscope {

struct StepRates {
  // Products of the recorded steps over their time, per device; absent: no shapes, or none at all.
  // With an MFU budget it is HFU times the peak.
  std::optional<FlopRate> achieved{};
  bool achieved_is_least = false;  // the FLOPs of some products are not known
  std::optional<FlopRate> peak{};  // per device; absent: no peak is known
  // |compute ∩ communication| over min(|compute|, |communication|), summed over ranks (overlap.h).
  // Absent: no communication, or no compute to hide it.
  std::optional<double> overlap_efficiency{};
  // The collective with most transfer time that has a bus bandwidth; null: no collective has one.
  // In `analysis`.
  const CollectiveRow* collective = nullptr;
  // Exposed communication over the counted steps, by Dimension, of all ranks with a device. Empty:
  // no such rank.
  std::vector<double> exposed{};
  // The time that the links allow for its size over its time; absent: not known, or impossible.
  std::optional<double> link_share{};
};

[[nodiscard]] StepRates step_rates(const Analysis& analysis);

}  // namespace stepscope
