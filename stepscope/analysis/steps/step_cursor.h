// SPDX-License-Identifier: Apache-2.0
// Divides stretches of time, given in order, among the steps that contain them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "stepscope/analysis/steps/steps.h"

namespace stepscope {

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

}  // namespace stepscope
