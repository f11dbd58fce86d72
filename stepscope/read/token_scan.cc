// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/token_scan.h"

#include <algorithm>

#include "stepscope/base/result.h"

namespace stepscope {

TokenScan::TokenScan(std::span<const std::string_view> words) : words_(words.begin(), words.end()) {
  check(!words.empty(), "there is a word to look for");
  shortest_ = std::ranges::min(words, {}, &std::string_view::size).size();
  check(shortest_ >= 2, "a word has two letters");
  shortest_ = std::min<std::size_t>(shortest_, 200);
  shift_.fill(static_cast<std::uint8_t>(shortest_ - 1));
  for (const std::string& word : words_)
    for (std::size_t i = 0; i + 1 < shortest_; ++i) {
      std::uint8_t& shift = shift_[slot(word.data() + i)];
      shift = std::min(shift, static_cast<std::uint8_t>(shortest_ - 2 - i));
    }
}

TokenScan::Hit TokenScan::next(std::string_view text, std::size_t from) const {
  std::size_t at = from + shortest_ - 2;  // of the window's last two letters
  while (at + 1 < text.size()) {
    const std::uint8_t shift = shift_[slot(text.data() + at)];
    if (shift > 0) {
      at += shift;
      continue;
    }
    const std::size_t begin = at + 2 - shortest_;
    for (std::size_t w = 0; w < words_.size(); ++w)
      if (text.substr(begin).starts_with(words_[w])) return {begin, w};
    ++at;
  }
  return {};
}

}  // namespace stepscope
