// SPDX-License-Identifier: Apache-2.0
// How much work the stages of a pipeline have, compared with each other.
#pragma once

#include <map>
#include <string_view>

#include "stepscope/analysis/replay/what_if_inputs.h"

namespace stepscope {

struct StageRatio {
  double work = 1;      // compute over the compute of an even stage
  bool layers = true;   // the stages have different numbers of calls
  bool movable = true;  // whole layers can be moved so that the busiest stage has fewer
};

// By stage: the time of its compute over the time that it would take if stages were alike. Each
// kernel name that all stages run gives a ratio, and the median by time counts, so what one stage
// runs besides its layers stays with it. If all stages run the names equally often, one runs them
// slower: then the median stage is the reference. Otherwise layers can be moved, and it is the mean
// stage. A stage's time is that of its median rank: a slow rank is not its stage's work.
//
// `even`: the mean stage is the reference in any case.
[[nodiscard]] std::map<std::string_view, StageRatio> stage_ratios(const WhatIfInputs& inputs,
                                                                  bool even = false);

}  // namespace stepscope
