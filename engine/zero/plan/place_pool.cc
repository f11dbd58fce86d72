// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/plan/place_pool.h"

#include <algorithm>

#include "stepscope/base/result.h"

namespace stepscope::zero {

std::int64_t PlacePool::take(std::int64_t bytes, std::int64_t used) {
  constexpr std::int64_t line = 64;
  const std::int64_t wanted = std::max(line, (bytes + line - 1) / line * line);
  std::int64_t place = 0;
  for (const auto& [start, taken] : taken_) {
    if (start - place >= wanted) break;
    place = start + taken.bytes;
  }
  taken_.emplace(place, Taken{.bytes = wanted, .used = used});
  extent_ = std::max(extent_, place + wanted);
  used_ += used;
  peak_used_ = std::max(peak_used_, used_);
  return place;
}

void PlacePool::give_back(std::int64_t place) {
  const auto it = taken_.find(place);
  check(it != taken_.end(), "a place is given back once, after it was taken");
  used_ -= it->second.used;
  taken_.erase(it);
}

}  // namespace stepscope::zero
