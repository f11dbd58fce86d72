// SPDX-License-Identifier: Apache-2.0
// Finds the next of several words in a text, by the last two letters of a window as wide as the
// shortest word (Wu and Manber, 1994): most of the text is never looked at.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

class TokenScan {
 public:
  // REQUIRES: each word has two letters or more; of two words that begin at one place the earlier
  // counts.
  explicit TokenScan(std::span<const std::string_view> words);

  struct Hit {
    std::size_t at = std::string_view::npos;  // npos: none
    std::size_t word = 0;
  };
  // The first word at or behind `from`.
  [[nodiscard]] Hit next(std::string_view text, std::size_t from) const;

 private:
  static std::size_t slot(const char* two) {
    return static_cast<std::size_t>(static_cast<unsigned char>(two[0])) << 8 |
           static_cast<unsigned char>(two[1]);
  }

  // A word that may begin at a window.
  struct Candidate {
    std::uint64_t front = 0;  // its first eight letters, those that `mask` covers
    std::uint64_t mask = 0;
    std::size_t word = 0;
  };
  [[nodiscard]] bool begins(std::string_view text, const Candidate& c) const;

  std::vector<std::string> words_;
  std::size_t shortest_ = 0;
  std::array<std::uint8_t, 65536> shift_{};  // by the window's last two letters
  std::array<std::uint16_t, 65536> list_{};  // where shift_ is 0: element of candidates_
  std::vector<std::vector<Candidate>> candidates_;
};

}  // namespace stepscope
