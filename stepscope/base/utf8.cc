// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/utf8.h"

namespace stepscope {

std::size_t utf8_length(std::string_view text, std::size_t p) {
  const auto byte = [&](std::size_t i) {
    return static_cast<unsigned>(static_cast<unsigned char>(text[i]));
  };
  const unsigned lead = byte(p);
  if (lead < 0x80) return 1;
  const std::size_t n = lead >= 0xF0 && lead < 0xF5   ? 4
                        : lead >= 0xE0 && lead < 0xF0 ? 3
                        : lead >= 0xC2 && lead < 0xE0 ? 2
                                                      : 0;
  if (n == 0 || p + n > text.size()) return 0;
  for (std::size_t i = 1; i < n; ++i)
    if ((byte(p + i) & 0xC0) != 0x80) return 0;
  const unsigned next = byte(p + 1);
  const bool overlong_or_surrogate =
      (lead == 0xE0 && next < 0xA0) || (lead == 0xED && next >= 0xA0) ||
      (lead == 0xF0 && next < 0x90) || (lead == 0xF4 && next >= 0x90);
  return overlong_or_surrogate ? 0 : n;
}

}  // namespace stepscope
