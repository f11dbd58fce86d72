// SPDX-License-Identifier: Apache-2.0
#include "stepscope/live/find_period.h"

#include <algorithm>

namespace stepscope {

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
