// SPDX-License-Identifier: Apache-2.0
#include "engine/train/train_result.h"

#include <algorithm>

namespace stepscope {
namespace {

// Rounds differ by their noise: what is hidden may exceed all that there is by a little.
std::optional<double> share_of(Ns hidden, Ns all) {
  if (all <= Ns{}) return std::nullopt;
  return nanoseconds_of(std::clamp(hidden, Ns{}, all)) / nanoseconds_of(all);
}

}  // namespace

std::optional<double> TrainIsolation::Rank::hidden_share() const {
  return share_of(hidden(), communication);
}

std::optional<double> TrainIsolation::Rank::efficiency() const {
  return share_of(hidden(), std::min(compute, communication));
}

bool TrainIsolation::Rank::faster_than_alone() const { return -contention() > both / 100; }

bool TrainIsolation::Rank::hides_more_than_there_is() const {
  return hidden() - std::min(compute, communication) > both / 100;
}

TrainIsolation::Rank TrainIsolation::mean() const {
  Rank sum;
  for (const Rank& r : ranks) {
    sum.both += r.both;
    sum.exposed += r.exposed;
    sum.compute += r.compute;
    sum.communication += r.communication;
  }
  const auto n = std::max<Ns::rep>(1, std::ssize(ranks));
  return {sum.both / n, sum.exposed / n, sum.compute / n, sum.communication / n};
}

std::span<const TrainStep> counted_steps(const TrainResult& r) {
  const std::span<const TrainStep> all(r.steps);
  return all.size() < 3 ? all : all.subspan(1);
}

TrainRates train_rates(const TrainResult& r) {
  TrainRates rates;
  const auto steps = counted_steps(r);
  if (steps.empty()) return rates;
  double wall = 0;
  double tokens = 0;
  for (const TrainStep& step : steps) {
    wall += nanoseconds_of(&step == &steps.front() ? step.wall : step.added);
    tokens += static_cast<double>(step.tokens);
  }
  if (wall <= 0) return rates;
  rates.step_ns = wall / static_cast<double>(steps.size());
  rates.tokens_per_second = tokens / wall * ns_per_s;
  if (r.peak && r.model_flops.value > 0) {
    const double available = r.peak->value * r.setup.ranks * rates.step_ns / ns_per_s;
    rates.mfu = r.model_flops.value / available;
    rates.hfu = r.executed_flops.value / available;
  }
  return rates;
}

}  // namespace stepscope
