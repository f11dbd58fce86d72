// SPDX-License-Identifier: Apache-2.0
// A plain number is not the id of a string in the pool.
#include "stepscope/base/string_pool.h"

std::string_view text(const stepscope::StringPool& strings, std::uint32_t number) {
#ifdef MISUSE
  return strings[number];
#else
  return strings[stepscope::StringId{number}];
#endif
}
