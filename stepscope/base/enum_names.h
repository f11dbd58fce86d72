// SPDX-License-Identifier: Apache-2.0
// The names of an enum's values, as the source spells them. They stand in JSON and in files, so a
// value keeps its name.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace stepscope {

template <auto value>
constexpr std::string_view enumerator_name() {
  std::string_view text = __PRETTY_FUNCTION__;  // "… [with auto value = stepscope::Colour::red; …]"
  text.remove_prefix(text.find("value = "));
  text = text.substr(0, text.find_first_of(";]"));
  return text.substr(text.rfind(':') + 1);
}

// The names of the values 0, 1, … up to `last`.
template <auto last>
inline constexpr auto enum_names = []<std::size_t... i>(std::index_sequence<i...>) {
  return std::array{enumerator_name<static_cast<decltype(last)>(i)>()...};
}(std::make_index_sequence<static_cast<std::size_t>(last) + 1>());

}  // namespace stepscope
