// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/token_scan.h"

#include <algorithm>
#include <cstring>

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
  candidates_.resize(1);  // 0 is none
  for (std::size_t w = 0; w < words_.size(); ++w) {
    Candidate c{.word = w};
    const std::size_t front = std::min<std::size_t>(words_[w].size(), sizeof c.front);
    std::memcpy(&c.front, words_[w].data(), front);
    std::memset(&c.mask, 0xFF, front);
    std::uint16_t& list = list_[slot(words_[w].data() + shortest_ - 2)];
    if (list == 0) {
      list = static_cast<std::uint16_t>(candidates_.size());
      candidates_.emplace_back();
    }
    candidates_[list].push_back(c);
  }
}

bool TokenScan::begins(std::string_view text, const Candidate& c) const {
  if (text.size() < sizeof c.front) return text.starts_with(words_[c.word]);
  std::uint64_t front = 0;
  std::memcpy(&front, text.data(), sizeof front);
  if ((front & c.mask) != c.front) return false;
  return words_[c.word].size() <= sizeof front || text.starts_with(words_[c.word]);
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
    for (const Candidate& c : candidates_[list_[slot(text.data() + at)]])
      if (begins(text.substr(begin), c)) return {begin, c.word};
    ++at;
  }
  return {};
}

}  // namespace stepscope
