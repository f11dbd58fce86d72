// SPDX-License-Identifier: Apache-2.0
// A cause that may be named, and which of several is named first.
#pragma once

#include <optional>
#include <vector>

#include "stepscope/analysis/replay/evidence.h"
#include "stepscope/analysis/replay/fault_changes.h"
#include "stepscope/analysis/replay/what_if.h"

namespace stepscope {

// A cause that may be named.
struct FaultCandidate {
  StepFault fault;
  std::vector<NodeChange> changes;  // undo it
  Ns left{};                        // what it gains once the faults named before are undone
  std::optional<LongStep> step{};   // of an outlier
};

// Causes of a narrower place explain wider ones: the pauses of a rank its late host, one rank's
// loader the loaders of all.
[[nodiscard]] inline int width_of(const StepFault& f) {
  switch (f.kind) {
    case StepFaultKind::outlier_step:
      return 0;
    case StepFaultKind::pauses:
      return 1;
    case StepFaultKind::data_loader:
      return f.ranks.empty() ? 5 : 2;
    case StepFaultKind::stage_imbalance:
      return 4;
    case StepFaultKind::sync_calls:
      return 6;
    case StepFaultKind::unseen_host:
      return f.ranks.size() == 1 ? 6 : 7;
    default:
      return 3;
  }
}

// Gains of causes that compare a rank, a group or a step with others count whole. So does unseen
// work of one rank: the replay compares it with unseen work of the others.
[[nodiscard]] inline double weight_of(const FaultCandidate& s) {
  constexpr double sync_weight = 1.0 / 3;  // counts where a cause compares nothing
  const auto gain = static_cast<double>(s.left.count());
  const bool compared = s.fault.kind == StepFaultKind::unseen_host
                            ? s.fault.ranks.size() == 1
                            : s.fault.kind != StepFaultKind::sync_calls;
  return compared ? gain : sync_weight * gain;
}

}  // namespace stepscope
