// SPDX-License-Identifier: Apache-2.0
// A column of integers as few bytes. Each value becomes a residue, residues are divided by their
// common divisor, and the result is laid out so that a general compressor finds little left to do.
// docs/dev/digest-format.md describes the bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace stepscope {

enum class Residue : std::uint8_t {
  value,    // the value itself
  delta,    // the difference to the previous value; the first value stands alone
  present,  // 0 for `absent`, else the difference to the previous value that is not absent
};
enum class Layout : std::uint8_t {
  varint,  // LEB128: seven bits a byte, lowest first
  planes,  // the lowest bytes of all residues, then the next ones, as many as the largest needs
};

struct IntegerCoding {
  Residue residue = Residue::value;
  Layout layout = Layout::varint;
  std::int64_t absent = 0;  // of Residue::present
};

// Any values; of Residue::present those within 62 bits. The bytes are not compressed yet.
[[nodiscard]] std::string encode_integers(std::span<const std::int64_t> values,
                                          const IntegerCoding& coding);

// Fills `values`. False: the bytes are not an encoding of this number of values.
[[nodiscard]] bool decode_integers(std::string_view bytes, const IntegerCoding& coding,
                                   std::span<std::int64_t> values);

// The most bytes that `count` values take.
[[nodiscard]] constexpr std::uint64_t most_encoded_bytes(std::uint64_t count) {
  return 32 + 10 * count;
}

}  // namespace stepscope
