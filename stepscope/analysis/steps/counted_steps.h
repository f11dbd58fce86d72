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

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/event/trace.h"

namespace stepscope {

struct CountedSteps {
  // By view, for its own account. If clocks are comparable and steps lie between their ends, all
  // views have the same. Empty for a view without steps, and if the views differ in their number of
  // steps and no two are in sequence.
  std::vector<std::vector<Step>> of_view;
  // The steps of the job, without overlap: their mean length is the length of a step. If clocks are
  // not comparable, the steps of the slowest view. Empty if no view has steps.
  std::vector<Step> of_job;
};

// `together`: the clocks of the views are comparable.
[[nodiscard]] CountedSteps count_steps(std::span<const RankView> views, bool together,
                                       unsigned threads = 1);

// Ordinal of the step that launched a device operation; -1 if that was before them. An operation
// whose launch has no row counts to the step in which it runs if most launches have no row either,
// else to no step.
[[nodiscard]] std::int32_t launching_step(const RankView& view, SliceId op, bool launches_recorded);

// A step that all views with steps have.
struct CommonStep {
  std::int64_t index = 0;          // Step::index
  bool follows = true;             // it begins where the one before it in the list ends
  std::vector<std::size_t> place;  // by view: index into its steps; no_place: the view has no steps
};
inline constexpr std::size_t no_place = std::numeric_limits<std::size_t>::max();

// By index. `ends(view, place)` says whether the end of a step is known; else the view lacks it.
[[nodiscard]] std::vector<CommonStep> common_steps(
    std::span<const RankView> views, const std::function<bool(std::size_t, std::size_t)>& ends);

// The steps whose recording is incomplete: a file's early end broke them, or the profiler lost what
// the device did in them. Such a step lacks rows of the host, calls or device operations, and its
// idle time is no idle time.

// A step is left out if this share of its launches has no device row. The device's time of a step
// that is kept is wrong by no more than that; gaps where rows are lost have a category of their own
// (BudgetCategory::not_recorded).
inline constexpr double most_lost_launches = 0.1;

struct IncompleteSteps {
  std::vector<Step> cut;   // by the early end of the file
  std::vector<Step> lost;  // without the device rows of their launches
};

// Takes the incomplete steps out of `steps` and returns them.
// A step of a file that was cut (ImportNotes::cuts) is kept if every row up to its end was read,
// the step after it begins with a device operation as this one does, no more of its launches lack
// their operation than in the best step, each matrix product calls the device's runtime, and its
// operators make at least 0.9 times as many calls as those of the step with most. A trace of the
// NCCL plugin is whole in any case: the plugin writes each row when the row has ended. A step of
// any file is taken out if it has lost most_lost_launches, or if it has operators but neither calls
// of the device's runtime nor device rows, while another step has what it lacks. If no step is
// better, all are kept.
[[nodiscard]] IncompleteSteps take_incomplete_steps(const Trace& trace, const RankIndex& rank,
                                                    std::vector<Step>& steps);

}  // namespace stepscope
