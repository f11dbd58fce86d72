// SPDX-License-Identifier: Apache-2.0
// Differences wrap around 64 bits, so every sequence of values can be encoded.
#include "stepscope/digest/integer_column.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

namespace stepscope {
namespace {

using Word = std::uint64_t;

constexpr int bits_per_byte = 8;
constexpr int bits_per_varint_byte = 7;
constexpr Word varint_more = 0x80;

// Small numbers of either sign become small numbers.
Word folded(Word difference) { return (difference << 1) ^ (Word{0} - (difference >> 63)); }
Word unfolded(Word word) { return (word >> 1) ^ (Word{0} - (word & 1)); }

void append_varint(std::string& out, Word word) {
  for (; word >= varint_more; word >>= bits_per_varint_byte)
    out.push_back(static_cast<char>(word | varint_more));
  out.push_back(static_cast<char>(word));
}

bool take_varint(std::string_view& bytes, Word& word) {
  word = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    // The tenth byte has room for the highest bit alone.
    if (i == 9 && byte > 1) return false;
    word |= Word{byte & 0x7FU} << (bits_per_varint_byte * i);
    if (byte < varint_more) {
      bytes.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

Word size_of(Word difference) {
  return (difference >> 63) != 0 ? Word{0} - difference : difference;
}

// The largest number that divides all differences; 1 if all are 0.
Word common_divisor(std::span<const Word> differences) {
  Word divisor = 0;
  for (const Word d : differences) {
    if (d == 0) continue;
    divisor = std::gcd(divisor, size_of(d));
    if (divisor == 1) break;
  }
  return std::max(divisor, Word{1});
}

Word divided(Word difference, Word divisor) {
  const Word quotient = size_of(difference) / divisor;
  return (difference >> 63) != 0 ? Word{0} - quotient : quotient;
}

// Differences to `origin` or to the previous value, divided by `divisor` and folded.
struct Residues {
  Word origin = 0;
  Word divisor = 1;
  std::vector<Word> words;
};

Residues differences_of(std::span<const std::int64_t> values, Residue residue) {
  Residues r;
  r.words.resize(values.size());
  if (residue == Residue::delta && !values.empty()) r.origin = static_cast<Word>(values[0]);
  Word previous = r.origin;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<Word>(values[i]);
    r.words[i] = value - previous;
    if (residue == Residue::delta) previous = value;
  }
  r.divisor = common_divisor(r.words);
  for (Word& word : r.words) word = folded(r.divisor == 1 ? word : divided(word, r.divisor));
  return r;
}

// 0 stands for `absent`.
Residues present_of(std::span<const std::int64_t> values, std::int64_t absent) {
  Residues r;
  r.words.resize(values.size());
  auto previous = static_cast<Word>(absent);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == absent) continue;
    const auto value = static_cast<Word>(values[i]);
    r.words[i] = folded(value - previous) + 1;
    previous = value;
  }
  return r;
}

void append_planes(std::string& out, std::span<const Word> words) {
  Word all = 0;
  for (const Word word : words) all |= word;
  const int planes = (static_cast<int>(std::bit_width(all)) + bits_per_byte - 1) / bits_per_byte;
  out.push_back(static_cast<char>(planes));
  std::size_t at = out.size();
  out.resize(at + words.size() * static_cast<std::size_t>(planes));
  for (int p = 0; p < planes; ++p)
    for (const Word word : words) out[at++] = static_cast<char>(word >> (bits_per_byte * p));
}

bool take_planes(std::string_view bytes, std::span<std::int64_t> words) {
  if (bytes.empty()) return false;
  const auto planes = static_cast<unsigned char>(bytes.front());
  bytes.remove_prefix(1);
  if (planes > sizeof(Word) || bytes.size() != words.size() * planes) return false;
  std::ranges::fill(words, 0);
  for (int p = 0; p < planes; ++p) {
    const std::string_view plane = bytes.substr(static_cast<std::size_t>(p) * words.size());
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] |= static_cast<std::int64_t>(Word{static_cast<unsigned char>(plane[i])}
                                            << (bits_per_byte * p));
  }
  return true;
}

bool take_words(std::string_view bytes, Layout layout, std::span<std::int64_t> words) {
  if (layout == Layout::planes) return take_planes(bytes, words);
  for (std::int64_t& value : words) {
    Word word = 0;
    if (!take_varint(bytes, word)) return false;
    value = static_cast<std::int64_t>(word);
  }
  return bytes.empty();
}

}  // namespace

std::string encode_integers(std::span<const std::int64_t> values, const IntegerCoding& coding) {
  const Residues r = coding.residue == Residue::present ? present_of(values, coding.absent)
                                                        : differences_of(values, coding.residue);
  std::string out;
  append_varint(out, folded(r.origin));
  append_varint(out, r.divisor);
  if (coding.layout == Layout::planes)
    append_planes(out, r.words);
  else
    for (const Word word : r.words) append_varint(out, word);
  return out;
}

bool decode_integers(std::string_view bytes, const IntegerCoding& coding,
                     std::span<std::int64_t> values) {
  Word origin = 0;
  Word divisor = 0;
  if (!take_varint(bytes, origin) || !take_varint(bytes, divisor)) return false;
  if (!take_words(bytes, coding.layout, values)) return false;
  const bool present = coding.residue == Residue::present;
  Word previous = present ? static_cast<Word>(coding.absent) : unfolded(origin);
  for (std::int64_t& value : values) {
    auto word = static_cast<Word>(value);
    if (present && word == 0) {
      value = coding.absent;
      continue;
    }
    if (present) --word;
    const Word restored = previous + unfolded(word) * divisor;
    value = static_cast<std::int64_t>(restored);
    if (coding.residue != Residue::value) previous = restored;
  }
  return true;
}

}  // namespace stepscope
