// SPDX-License-Identifier: Apache-2.0
// Instants and durations as Chrome traces write them: microseconds with three decimals, so no ns is
// lost.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "stepscope/base/quantity.h"

namespace stepscope {

struct Microseconds {
  explicit Microseconds(Ns time) {
    const std::int64_t ns = time.count();
    const auto size = static_cast<std::uint64_t>(ns < 0 ? -ns : ns);
    char* p = text.data();
    if (ns < 0) *p++ = '-';
    p = std::to_chars(p, text.data() + text.size(), size / 1000).ptr;
    const auto rest = static_cast<unsigned>(size % 1000);
    *p++ = '.';
    *p++ = static_cast<char>('0' + rest / 100);
    *p++ = static_cast<char>('0' + rest / 10 % 10);
    *p++ = static_cast<char>('0' + rest % 10);
    length = static_cast<std::size_t>(p - text.data());
  }
  [[nodiscard]] std::string_view view() const { return {text.data(), length}; }
  std::array<char, 32> text{};
  std::size_t length = 0;
};

}  // namespace stepscope
