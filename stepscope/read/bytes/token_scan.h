// SPDX-License-Identifier: Apache-2.0
// Finds the next of several words in a text. Probe every n-th byte so that any word contains a
// probed trigram wherever it begins; n follows from the shortest word. A probe is one table
// look-up, and probes do not depend on one another.
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
  // REQUIRES: each word has three letters or more. If two words begin at one place, the earlier one
  // in the list counts.
  explicit TokenScan(std::span<const std::string_view> words);

  struct Hit {
    std::size_t at = std::string_view::npos;  // npos: none
    std::size_t word = 0;
  };
  // The first word at or after `from`.
  [[nodiscard]] Hit next(std::string_view text, std::size_t from) const;

 private:
  // A word that may contain a probe; `before` of its letters precede the probe.
  struct Candidate {
    std::uint64_t front = 0;  // its first eight letters, masked by `mask`
    std::uint64_t mask = 0;
    std::size_t word = 0;
    std::size_t before = 0;
  };
  // Maps a hash of three letters to an element of candidates_, 0 for none.
  static constexpr unsigned table_bits = 13;
  static std::size_t slot(std::uint32_t letters) {
    return (letters & 0xFFFFFFU) * 0x9E3779B1U >> (32 - table_bits);
  }
  [[nodiscard]] bool begins(std::string_view text, const Candidate& c) const;
  [[nodiscard]] Hit around(std::string_view text, std::size_t at, std::size_t slot) const;

  std::vector<std::string> words_;
  std::size_t stride_ = 1;
  std::array<std::uint16_t, 1 << table_bits> list_{};
  std::vector<std::vector<Candidate>> candidates_;  // the word that begins earliest is first
};

}  // namespace stepscope
