// SPDX-License-Identifier: Apache-2.0
// The step times of a running job in bounded memory: a curve over the whole run, whose points are
// merged in pairs when there are too many, and the last values for change points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "stepscope/stats/quantile_sketch.h"

namespace stepscope {

// One step, or the mean of several. Parts are means over ranks of one step; NaN: unknown.
struct StepSample {
  double wall_ns = 0;
  std::int64_t steps = 1;
  std::int64_t iteration = -1;  // of the last step; -1: unknown
  double transfer_ns = std::numeric_limits<double>::quiet_NaN();
  double wait_ns = std::numeric_limits<double>::quiet_NaN();
};

struct CurvePoint {
  std::int64_t steps = 0;  // in the point
  std::int64_t last = 0;   // number of its last step: the log's iteration, else a count from 1
  double sum_ns = 0;
  double least_ns = 0;
  double most_ns = 0;
};

// A lasting change of the step time.
struct StepChange {
  std::int64_t step = 0;  // the first step of the new level, as CurvePoint::last
  double before_ns = 0;   // medians
  double after_ns = 0;
  // How much longer each part is, in ns a step; absent if it is unknown on one side.
  std::optional<double> transfer_ns{};
  std::optional<double> wait_ns{};
};

class StepCurve {
 public:
  static constexpr std::size_t most_points = 512;
  static constexpr std::size_t recent_steps = 512;

  // REQUIRES: wall_ns > 0, steps ≥ 1.
  void add(const StepSample& sample);
  // A change that has not been given before, if there is one. It is looked for after every
  // `look_every` values: it is known when it has lasted for 8 of them or more.
  [[nodiscard]] std::optional<StepChange> take_change();

  [[nodiscard]] const std::vector<CurvePoint>& points() const { return points_; }
  [[nodiscard]] const QuantileSketch& times() const { return times_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  [[nodiscard]] std::int64_t last() const { return last_; }
  // Whether all that is known is one mean of several steps: it has no median.
  [[nodiscard]] bool one_mean() const {
    return recent_.size() == 1 && recent_.front().sample.steps > 1;
  }
  // Median of the last 20 values; absent without a step.
  [[nodiscard]] std::optional<double> recent_ns() const;

 private:
  struct Recent {
    StepSample sample;
    std::int64_t number = 0;
  };
  static constexpr std::size_t look_every = 8;

  std::vector<CurvePoint> points_;
  std::int64_t per_point_ = 1;  // steps that a point holds at least
  std::deque<Recent> recent_;
  QuantileSketch times_;
  std::int64_t steps_ = 0;
  std::int64_t last_ = 0;
  std::int64_t told_ = -1;  // the last step of changes that were given
  std::size_t since_look_ = 0;
};

// The period of a sequence: how many of a communicator's collectives make a step.

// The smallest p such that the last 3 p values (at least `least` of them) repeat every p values.
// Absent if the sequence is too short or has no such period. O(n²) at worst, about O(n) for
// sequences that differ early.
[[nodiscard]] std::optional<std::size_t> find_period(std::span<const std::uint64_t> values,
                                                     std::size_t least = 24);

}  // namespace stepscope
