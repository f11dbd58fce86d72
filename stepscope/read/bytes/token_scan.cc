// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/bytes/token_scan.h"

#include <algorithm>
#include <cstring>

#include "stepscope/base/result.h"

namespace stepscope {
namespace {

constexpr std::size_t gram = 3;  // letters of a probe

// Four letters; the table's hash uses three of them.
std::uint32_t four(const char* text) {
  std::uint32_t letters = 0;
  std::memcpy(&letters, text, sizeof letters);
  return letters;
}
std::uint32_t three(const char* text) {
  std::uint32_t letters = 0;
  std::memcpy(&letters, text, gram);
  return letters;
}

}  // namespace

TokenScan::TokenScan(std::span<const std::string_view> words) : words_(words.begin(), words.end()) {
  check(!words.empty(), "there is a word to look for");
  const std::size_t shortest = std::ranges::min(words, {}, &std::string_view::size).size();
  check(shortest >= gram, "a word has three letters");
  stride_ = shortest - gram + 1;
  candidates_.resize(1);  // candidate 0 means none
  for (std::size_t before = stride_; before-- > 0;)
    for (std::size_t w = 0; w < words_.size(); ++w) {
      Candidate c{.word = w, .before = before};
      const std::size_t front = std::min<std::size_t>(words_[w].size(), sizeof c.front);
      std::memcpy(&c.front, words_[w].data(), front);
      std::memset(&c.mask, 0xFF, front);
      std::uint16_t& list = list_[slot(three(words_[w].data() + before))];
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

// REQUIRES: stride_ - 1 letters before `at`.
TokenScan::Hit TokenScan::around(std::string_view text, std::size_t at, std::size_t slot) const {
  for (const Candidate& c : candidates_[list_[slot]])
    if (begins(text.substr(at - c.before), c)) return {at - c.before, c.word};
  return {};
}

TokenScan::Hit TokenScan::next(std::string_view text, std::size_t from) const {
  // A word that begins before `from` does not contain this probe or a later one.
  std::size_t at = from + stride_ - 1;
  const auto slot_at = [&](std::size_t place) { return slot(four(text.data() + place)); };
  for (; at + 3 * stride_ + sizeof(std::uint32_t) <= text.size(); at += 4 * stride_) {
    const std::array<std::size_t, 4> slots = {slot_at(at), slot_at(at + stride_),
                                              slot_at(at + 2 * stride_), slot_at(at + 3 * stride_)};
    if ((list_[slots[0]] | list_[slots[1]] | list_[slots[2]] | list_[slots[3]]) == 0) continue;
    for (std::size_t i = 0; i < slots.size(); ++i)
      if (list_[slots[i]] != 0)
        if (const Hit hit = around(text, at + i * stride_, slots[i]); hit.at != text.npos)
          return hit;
  }
  for (; at + gram <= text.size(); at += stride_)
    if (const Hit hit = around(text, at, slot(three(text.data() + at))); hit.at != text.npos)
      return hit;
  return {};
}

}  // namespace stepscope
