// SPDX-License-Identifier: Apache-2.0
// One rank as the questions about several ranks see it: its number, its trace, its index, its
// steps. A rank captured in several windows has one view each. Views refer to what the caller owns.
#pragma once

#include <span>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/event/trace.h"

namespace stepscope {

struct RankView {
  int rank = 0;
  const Trace* trace = nullptr;
  const RankIndex* index = nullptr;
  std::span<const Step> steps;
};

}  // namespace stepscope
