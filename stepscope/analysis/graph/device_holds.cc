// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/graph/device_holds.h"

#include <algorithm>

#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr Ns shortest_slice = std::chrono::microseconds{500};

}  // namespace

std::vector<std::size_t> find_holds(std::span<const IdleStretch> stretches) {
  const auto length = [](const IdleStretch& s) { return s.until - s.since; };
  std::vector<Ns> lengths;
  for (const IdleStretch& s : stretches) lengths.push_back(length(s));
  if (lengths.size() < held_often) return {};
  const Ns slice = upper_median(lengths);
  const auto as_long = [&](Ns time) { return 10 * std::chrono::abs(time - slice) <= slice; };
  const auto alike = static_cast<std::size_t>(std::ranges::count_if(lengths, as_long));
  if (slice < shortest_slice || 4 * alike < 3 * lengths.size()) return {};
  std::vector<std::size_t> held;
  for (std::size_t i = 0; i < stretches.size(); ++i)
    if (as_long(length(stretches[i])) && stretches[i].until - stretches[i].ready >= held_long)
      held.push_back(i);
  if (held.size() < held_often) held.clear();
  return held;
}

}  // namespace stepscope
