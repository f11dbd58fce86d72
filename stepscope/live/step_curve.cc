// SPDX-License-Identifier: Apache-2.0
#include "stepscope/live/step_curve.h"

#include <algorithm>
#include <cmath>
#include <ranges>

#include "stepscope/stats/change_points.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

// A smaller change is not reported.
constexpr double least_change = 0.05;
constexpr std::size_t last_values = 20;

}  // namespace

void StepCurve::add(const StepSample& sample) {
  steps_ += sample.steps;
  last_ = sample.iteration >= 0 ? sample.iteration : last_ + sample.steps;
  times_.add(sample.wall_ns);
  recent_.push_back({.sample = sample, .number = last_});
  if (recent_.size() > recent_steps) recent_.pop_front();
  ++since_look_;
  if (points_.empty() || points_.back().steps >= per_point_) {
    if (points_.size() == most_points) {
      for (std::size_t i = 0; i < most_points / 2; ++i) {
        CurvePoint& to = points_[i] = points_[2 * i];
        const CurvePoint& from = points_[2 * i + 1];
        to.steps += from.steps;
        to.last = from.last;
        to.sum_ns += from.sum_ns;
        to.least_ns = std::min(to.least_ns, from.least_ns);
        to.most_ns = std::max(to.most_ns, from.most_ns);
      }
      points_.resize(most_points / 2);
      per_point_ *= 2;
    }
    points_.push_back({.least_ns = sample.wall_ns, .most_ns = sample.wall_ns});
  }
  CurvePoint& point = points_.back();
  point.steps += sample.steps;
  point.last = last_;
  point.sum_ns += sample.wall_ns * static_cast<double>(sample.steps);
  point.least_ns = std::min(point.least_ns, sample.wall_ns);
  point.most_ns = std::max(point.most_ns, sample.wall_ns);
}

std::optional<double> StepCurve::recent_ns() const {
  std::vector<double> values;
  for (const Recent& r : recent_ | std::views::reverse | std::views::take(last_values))
    values.push_back(r.sample.wall_ns);
  return median(values);
}

std::optional<StepChange> StepCurve::take_change() {
  if (since_look_ < look_every) return std::nullopt;
  since_look_ = 0;
  std::vector<double> walls;
  for (const Recent& r : recent_) walls.push_back(r.sample.wall_ns);
  const auto changes = find_changes(walls, {.least = least_change});
  for (std::size_t c = 0; c < changes.size(); ++c) {
    const ChangePoint& change = changes[c];
    // As the series grows, the place of a change may move by a few values.
    if (recent_[change.at].number <= told_) continue;
    const std::size_t end = c + 1 < changes.size() ? changes[c + 1].at : recent_.size();
    const std::size_t begin = c > 0 ? changes[c - 1].at : 0;
    const auto part = [&](std::size_t from, std::size_t to, double StepSample::* field) {
      double sum = 0;
      for (std::size_t i = from; i < to; ++i) sum += recent_[i].sample.*field;
      return sum / static_cast<double>(to - from);
    };
    const auto more = [&](double StepSample::* field) -> std::optional<double> {
      const double d = part(change.at, end, field) - part(begin, change.at, field);
      return std::isnan(d) ? std::nullopt : std::optional(d);
    };
    const std::size_t settled = std::min(change.at + look_every, recent_.size() - 1);
    told_ = recent_[settled].number;
    return StepChange{.step = recent_[change.at].number,
                      .before_ns = change.before,
                      .after_ns = change.after,
                      .transfer_ns = more(&StepSample::transfer_ns),
                      .wait_ns = more(&StepSample::wait_ns)};
  }
  return std::nullopt;
}

std::optional<std::size_t> find_period(std::span<const std::uint64_t> values, std::size_t least) {
  for (std::size_t p = 1; 3 * p <= values.size(); ++p) {
    const std::size_t length = std::max(3 * p, least);
    if (length > values.size()) return std::nullopt;
    const auto tail = values.last(length);
    if (std::equal(tail.begin() + static_cast<std::ptrdiff_t>(p), tail.end(), tail.begin()))
      return p;
  }
  return std::nullopt;
}

}  // namespace stepscope
