// SPDX-License-Identifier: Apache-2.0
// Which recorded steps count, and how long each of them is: the one answer for every verb.
//
// A step ends when the last device operation that it launched has ended, on the last rank if clocks
// are comparable. It lasts from the end of the step before to its own end. So the first recorded
// step does not count: the recording began in it, and it filled the queues. Nor does a step whose
// predecessor was not recorded, or is not on all ranks.
//
// Without a device, and without two such steps in sequence, all steps count: from the first begin
// to the last end, each up to the begin of the next.
#pragma once

#include <span>
#include <vector>

#include "stepscope/analysis/steps/rank_view.h"

namespace stepscope {

struct CountedSteps {
  // By view, for its own account. If clocks are comparable and steps lie between their ends, all
  // views have the same. Empty for a view without steps, and if the views differ in their number of
  // steps and no two are in sequence.
  std::vector<std::vector<Step>> of_view;
  // Of the job, without overlap: their mean length is the length of a step. Of the slowest view if
  // clocks are not comparable. Empty if no view has any.
  std::vector<Step> of_job;
};

// `together`: the clocks of the views are comparable.
[[nodiscard]] CountedSteps count_steps(std::span<const RankView> views, bool together,
                                       unsigned threads = 1);

}  // namespace stepscope
