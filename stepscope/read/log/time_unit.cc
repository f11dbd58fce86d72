// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/time_unit.h"

#include <array>

namespace stepscope {

std::string_view name_of(TimeUnit unit) {
  constexpr std::array<std::string_view, 4> names = {"ns", "us", "ms", "s"};
  return names[static_cast<std::size_t>(unit)];
}

double ns_per(TimeUnit unit) {
  constexpr std::array<double, 4> ns = {1, 1e3, 1e6, 1e9};
  return ns[static_cast<std::size_t>(unit)];
}

std::optional<TimeUnit> time_unit(std::string_view name) {
  for (const TimeUnit unit : {TimeUnit::ns, TimeUnit::us, TimeUnit::ms, TimeUnit::s})
    if (name == name_of(unit)) return unit;
  return std::nullopt;
}

}  // namespace stepscope
