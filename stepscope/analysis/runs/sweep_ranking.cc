// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/runs/sweep_ranking.h"

#include <algorithm>

#include "stepscope/stats/false_discovery.h"

namespace stepscope {
namespace {

std::vector<Series> kept_of(const SweepValue& value, const ComparedArm& arm) {
  std::vector<Series> kept;
  for (std::size_t i = 0; i < value.launches.size(); ++i)
    kept.push_back(Series(value.launches[i].wall_ns).subspan(arm.launches[i].warm_up));
  return kept;
}

}  // namespace

Sweep compare_values(std::span<const SweepValue> values, const CompareOptions& options) {
  Sweep sweep;
  for (const SweepValue& v : values)
    sweep.values.push_back({.value = v.value,
                            .arm = describe_arm(v.launches, options),
                            .beside_best = std::nullopt,
                            .q = std::nullopt});
  const auto best = std::ranges::min_element(sweep.values, {},
                                             [](const SweptValue& v) { return v.arm.median_ns; });
  sweep.best = static_cast<std::size_t>(best - sweep.values.begin());
  const std::vector<Series> fastest = kept_of(values[sweep.best], best->arm);
  std::vector<double> p;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i == sweep.best) continue;
    SweptValue& v = sweep.values[i];
    v.beside_best = test_ratio(fastest, kept_of(values[i], v.arm), options.ratio);
    p.push_back(v.beside_best->p.value_or(1));
    if (v.beside_best->verdict == Verdict::not_enough_data) sweep.enough_data = false;
  }
  const std::vector<double> q = false_discovery_rates(p);
  std::size_t at = 0;
  for (SweptValue& v : sweep.values) {
    if (!v.beside_best) continue;
    v.q = q[at++];
    v.tie = v.beside_best->verdict != Verdict::slower || *v.q >= options.ratio.alpha;
  }
  return sweep;
}

}  // namespace stepscope
