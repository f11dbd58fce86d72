// SPDX-License-Identifier: Apache-2.0
// Names of enumerators.
#pragma once

#include <cstddef>
#include <string>

namespace stepscope {

// The name of an enumerator in the array of names that follows its enumeration.
template <class Names, class Enum>
[[nodiscard]] std::string name_of(const Names& names, Enum e) {
  return std::string(names[static_cast<std::size_t>(e)]);
}

}  // namespace stepscope
