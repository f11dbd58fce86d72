// SPDX-License-Identifier: Apache-2.0
// One rank for questions about several ranks: its number, trace, index and steps. A rank captured
// in several windows has one view per window. Views do not own; the caller keeps the data alive.
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
