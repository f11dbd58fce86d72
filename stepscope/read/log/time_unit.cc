// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/time_unit.h"

#include <algorithm>
#include <array>

#include "stepscope/base/ascii.h"

namespace stepscope {
namespace {

struct UnitName {
  std::string_view name;
  TimeUnit unit;
};
constexpr std::array<UnitName, 11> unit_names = {{{"ms", TimeUnit::ms},
                                                  {"msec", TimeUnit::ms},
                                                  {"milliseconds", TimeUnit::ms},
                                                  {"s", TimeUnit::s},
                                                  {"sec", TimeUnit::s},
                                                  {"secs", TimeUnit::s},
                                                  {"second", TimeUnit::s},
                                                  {"seconds", TimeUnit::s},
                                                  {"us", TimeUnit::us},
                                                  {"µs", TimeUnit::us},
                                                  {"ns", TimeUnit::ns}}};

}  // namespace

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

std::string_view letters_of(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size() &&
         (is_letter(text[size]) || static_cast<unsigned char>(text[size]) >= 0x80))
    ++size;
  return text.substr(0, size);
}

std::optional<TimeUnit> unit_behind(std::string_view rest) {
  const std::string_view text = rest.starts_with(' ') ? rest.substr(1) : rest;
  const auto* const known = std::ranges::find(unit_names, letters_of(text), &UnitName::name);
  return known == unit_names.end() ? std::nullopt : std::optional(known->unit);
}

}  // namespace stepscope
