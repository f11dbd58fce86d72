// SPDX-License-Identifier: Apache-2.0
// What a call's surroundings tell when nothing was recorded with it.
#pragma once

#include <span>

#include "stepscope/analysis/matching/collective_calls.h"

namespace stepscope {

// One communicator's kernels share a stream: a kernel launched before the capture began takes its
// group, and the all-to-all behind a SendRecv, from its neighbours when they all agree.
void infer_from_streams(const RankView& view, RankCalls& rank);

// Fills CollectiveCall::step.
void find_steps_of_calls(std::span<const Step> steps, RankCalls& rank);

}  // namespace stepscope
