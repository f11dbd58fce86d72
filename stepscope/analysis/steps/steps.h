// SPDX-License-Identifier: Apache-2.0
// Where the steps of one rank begin and end (DESIGN: "Rank, step, clock"). A step begins with the
// first device operation launched inside its annotation, or with the annotation if no operation was
// launched inside it. It ends where the next step begins. The last step ends with its annotation or
// its last device operation, whichever is later. So does a step whose successor by number is
// missing: time that was not profiled belongs to no step. A last annotation that launched nothing
// on the device and is less than half as long as each of the others is no step: the profiler was
// stopped in it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/event/trace.h"

namespace stepscope {

struct Step {
  // n of ProfilerStep#n. If a name has no number or two are equal, all steps get ordinals.
  std::int64_t index = 0;
  std::string name{};  // "ProfilerStep#12"; "window" for the whole trace
  Ns host_start{};     // the annotation on the host; the whole trace for "window"
  Ns host_end{};
  Ns start{};  // the step: [start, end)
  Ns end{};
};

// The place of each step by its number; of equal numbers the first.
[[nodiscard]] inline std::unordered_map<std::int64_t, std::size_t> places_by_number(
    std::span<const Step> steps) {
  std::unordered_map<std::int64_t, std::size_t> places;
  for (std::size_t i = 0; i < steps.size(); ++i) places.try_emplace(steps[i].index, i);
  return places;
}

struct StepOptions {
  std::string annotation;  // a name or the part before its number; empty = iteration_name()
};

// In time order, without overlap. Uses the main thread's annotations if it has any. An annotation
// inside another one is part of it. Without annotations a step lies between the ends of two of
// PyTorch's "Optimizer.step#…" rows, if there are at least three rows: "update 1", "update 2", ….
// Without those, or if no annotation has a launch and more of the device's work begins outside of
// them than they last, there is one step named "window": the window of all device operations, or of
// the main thread without device operations. Empty only for a trace without slices.
[[nodiscard]] std::vector<Step> find_steps(const Trace& trace, const RankIndex& rank,
                                           const StepOptions& options = {});

// The time of [first event, last event] of the rank outside its steps. The steps and these three
// sum to that window.
struct OutsideSteps {
  Ns before{};
  Ns between{};
  Ns after{};
};
[[nodiscard]] OutsideSteps outside_steps(const RankIndex& rank, std::span<const Step> steps);

// Finds the ranges of a trace that are its steps by their names.

// "name", "name#12", "name 12", "name_12/100" and "name [12]" are steps of `wanted` = "name". If
// `wanted` ends in a sign, any number may follow: "block (layers." matches "block (layers.7)
// forward".
[[nodiscard]] bool names_step(std::string_view text, std::string_view wanted);
// 12; nullopt for a name without a number, and for numbers that JSON does not keep exactly.
[[nodiscard]] std::optional<std::int64_t> step_number(std::string_view name);

// "ProfilerStep" if the trace has any. Else the part before the numbers of ranges named like
// iterations ("step", "Iteration 7", "train_step#7") with at least two on one thread; of several
// such names the one with most time. In profiles of XLA also "train#7", whatever the word.
// "ProfilerStep" without such ranges.
[[nodiscard]] std::string iteration_name(const Trace& trace, const RankIndex& rank);

// Finds the step that contains an instant.

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

// Divides stretches of time, given in order, among the steps that contain them.

class StepCursor {
 public:
  explicit StepCursor(std::span<const Step> steps) : steps_(steps) {}

  // Calls give(place, start, end) for the parts of [start, end) inside steps. `start` must not
  // decrease from call to call.
  template <class Give>
  void place(Ns start, Ns end, Give&& give) {
    while (at_ < steps_.size() && steps_[at_].end <= start) ++at_;
    for (std::size_t i = at_; i < steps_.size() && steps_[i].start < end; ++i) {
      const Ns from = std::max(start, steps_[i].start);
      const Ns to = std::min(end, steps_[i].end);
      if (from < to) give(i, from, to);
    }
  }

 private:
  std::span<const Step> steps_;
  std::size_t at_ = 0;
};

// One rank for questions about several ranks: its number, trace, index and steps. A rank captured
// in several windows has one view per window. Views do not own; the caller keeps the data alive.

struct RankView {
  int rank = 0;
  const Trace* trace = nullptr;
  const RankIndex* index = nullptr;
  std::span<const Step> steps;
};

}  // namespace stepscope
