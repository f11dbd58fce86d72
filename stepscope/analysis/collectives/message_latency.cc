// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/collectives/message_latency.h"

#include <algorithm>
#include <cmath>

namespace stepscope {

std::optional<Ns> latency_of(const TimesOfSizes& times) {
  if (times.size() < 2) return std::nullopt;
  const auto& [small, of_small] = *times.begin();
  const auto& [large, of_large] = *times.rbegin();
  if (large < 2 * small) return std::nullopt;
  const double slope = static_cast<double>((of_large - of_small).count()) /
                       static_cast<double>(large - small);  // ns per byte
  const Ns of_bytes{std::llround(std::max(0.0, slope) * static_cast<double>(small))};
  return std::max(Ns{0}, of_small - of_bytes);
}

}  // namespace stepscope
