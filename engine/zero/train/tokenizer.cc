// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/train/tokenizer.h"

#include <algorithm>

#include "stepscope/base/utf8.h"

namespace stepscope::zero {

std::vector<std::int32_t> encode_bytes(std::string_view text) {
  std::vector<std::int32_t> tokens(text.size());
  std::ranges::transform(text, tokens.begin(), [](char c) {
    return static_cast<std::int32_t>(static_cast<unsigned char>(c));
  });
  return tokens;
}

std::string decode_bytes(std::span<const std::int32_t> tokens) {
  constexpr char outside = '\xff';  // never in UTF-8 text
  std::string bytes;
  for (const std::int32_t token : tokens) {
    if (token == end_of_text) continue;
    bytes += token >= 0 && token < end_of_text ? static_cast<char>(token) : outside;
  }
  std::string text;
  for (std::size_t p = 0; p < bytes.size();) {
    const std::size_t n = utf8_length(bytes, p);
    if (n == 0)
      text += "\xef\xbf\xbd";  // U+FFFD
    else
      text += bytes.substr(p, n);
    p += std::max<std::size_t>(n, 1);
  }
  return text;
}

}  // namespace stepscope::zero
