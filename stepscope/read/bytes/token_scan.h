// SPDX-License-Identifier: Apache-2.0
// Finds the next of several words in a text. Only every n-th place is looked at, n being such that
// the shortest word covers one of them with three letters wherever it stands: whether any word has
// these letters at its front is one look into a table, and looks do not wait for one another.
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
  // REQUIRES: each word has three letters or more; of two words that begin at one place the earlier
  // counts.
  explicit TokenScan(std::span<const std::string_view> words);

  struct Hit {
    std::size_t at = std::string_view::npos;  // npos: none
    std::size_t word = 0;
  };
  // The first word at or behind `from`.
  [[nodiscard]] Hit next(std::string_view text, std::size_t from) const;

 private:
  // A word that may stand around a place, `before` letters of it before the place.
  struct Candidate {
    std::uint64_t front = 0;  // its first eight letters, those that `mask` covers
    std::uint64_t mask = 0;
    std::size_t word = 0;
    std::size_t before = 0;
  };
  // By a hash of three letters: element of candidates_, 0 for none.
  static constexpr unsigned table_bits = 13;
  static std::size_t slot(std::uint32_t letters) {
    return (letters & 0xFFFFFFU) * 0x9E3779B1U >> (32 - table_bits);
  }
  [[nodiscard]] bool begins(std::string_view text, const Candidate& c) const;
  [[nodiscard]] Hit around(std::string_view text, std::size_t at, std::size_t slot) const;

  std::vector<std::string> words_;
  std::size_t stride_ = 1;
  std::array<std::uint16_t, 1 << table_bits> list_{};
  std::vector<std::vector<Candidate>> candidates_;  // those that begin first come first
};

}  // namespace stepscope
