// SPDX-License-Identifier: Apache-2.0
// How much work the stages of a pipeline have, compared with each other.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "stepscope/analysis/replay/what_if_inputs.h"

namespace stepscope {

struct StageRatio {
  double work = 1;         // compute over the compute of a balanced stage
  bool layers = true;      // the stages have different numbers of calls
  bool movable = true;     // whole layers can be moved so that the busiest stage has fewer
  double collectives = 1;  // the same ratio for their time
  std::map<std::string_view, double> names;  // the same ratio for each kernel name that changes

  [[nodiscard]] double of(std::string_view name) const {
    const auto at = names.find(name);
    return at != names.end() ? at->second : layers ? 1 : work;
  }
};

// By stage: the time of its compute over the time that it would take if stages were alike. Only
// kernel names that all stages run count. If all stages run them equally often, one runs them
// slower: then the median stage is the reference. Otherwise whole layers are moved until the
// busiest stage has the fewest possible, and calls of a name beyond its layers (the head) stay. A
// name that all stages call equally often, for a time that grows with their layers (the optimizer),
// goes with them. A stage's time is that of its median rank: a slow rank is not its stage's work.
// Empty if fewer than two stages are traced.
[[nodiscard]] std::map<std::string_view, StageRatio> stage_ratios(const WhatIfInputs& inputs);

// Stages as even as whole layers allow. Layers take their collectives along. Between stages as much
// is sent as before. Collectives behind compute (of gradient buckets) become more or fewer, each as
// long as before: only the last one shows. Ascending by node.
[[nodiscard]] std::vector<NodeChange> balance_stages(const WhatIfInputs& inputs);

// By stage: the time of its compute over that of the mean stage. Each name gives a ratio, and the
// median by time counts.
[[nodiscard]] std::map<std::string_view, double> stage_shares(const WhatIfInputs& inputs);

}  // namespace stepscope
