// SPDX-License-Identifier: Apache-2.0
// Whether two sketches are equal in all but sum(), which depends on the order of additions beyond
// 2^53.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "stepscope/stats/quantile_sketch.h"

namespace stepscope::test {

inline bool same_distribution(const QuantileSketch& a, const QuantileSketch& b) {
  const auto at = [](const QuantileSketch& s, int bucket) {
    const auto i = static_cast<std::size_t>(bucket - s.first_bucket());
    return bucket >= s.first_bucket() && i < s.counts().size() ? s.counts()[i] : std::uint64_t{0};
  };
  if (a.count() != b.count() || a.min() != b.min() || a.max() != b.max()) return false;
  for (int i = std::min(a.first_bucket(), b.first_bucket()); i < QuantileSketch::bucket_count; ++i)
    if (at(a, i) != at(b, i)) return false;
  return true;
}

}  // namespace stepscope::test
