// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/proto_wire.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace stepscope {
namespace {

// The wire type in a tag. Groups (3, 4) are obsolete since proto2.
enum WireType : unsigned { varint = 0, eight_bytes = 1, length = 2, four_bytes = 5 };

constexpr std::size_t longest_varint = 10;

bool take_fixed(std::string_view& bytes, std::size_t size, std::uint64_t& value) {
  if (bytes.size() < size) return false;
  for (std::size_t i = 0; i < size; ++i)
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  bytes.remove_prefix(size);
  return true;
}

void append_tag(std::string& out, std::uint32_t field, WireType type) {
  append_varint(out, std::uint64_t{field} << 3 | type);
}

}  // namespace

bool take_varint(std::string_view& bytes, std::uint64_t& value) {
  value = 0;
  const std::size_t most = std::min(bytes.size(), longest_varint);
  for (std::size_t i = 0; i < most; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << (7 * i);
    if ((byte & 0x80U) == 0) {
      bytes.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

bool ProtoFields::broken(bool cut_short) {
  damaged_ = true;
  cut_short_ = cut_short;
  return false;
}

bool ProtoFields::next() {
  if (rest_.empty() || damaged_) return false;
  is_bytes_ = false;
  bytes_ = {};
  number_ = 0;
  std::uint64_t tag = 0;
  if (!take_varint(rest_, tag)) return broken(rest_.size() < longest_varint);
  if (tag >> 3 == 0 || tag >> 32 != 0) return broken(false);
  field_ = static_cast<std::uint32_t>(tag >> 3);
  switch (tag & 7) {
    case varint:
      return take_varint(rest_, number_) || broken(rest_.size() < longest_varint);
    case eight_bytes:
      return take_fixed(rest_, 8, number_) || broken(true);
    case four_bytes:
      return take_fixed(rest_, 4, number_) || broken(true);
    case length: {
      std::uint64_t size = 0;
      if (!take_varint(rest_, size)) return broken(rest_.size() < longest_varint);
      if (size > rest_.size()) return broken(true);
      is_bytes_ = true;
      bytes_ = rest_.substr(0, static_cast<std::size_t>(size));
      rest_.remove_prefix(bytes_.size());
      return true;
    }
    default:
      return broken(false);
  }
}

double ProtoFields::real() const { return std::bit_cast<double>(number_); }

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80U);
  out += static_cast<char>(value);
}

void append_number(std::string& out, std::uint32_t field, std::uint64_t value) {
  append_tag(out, field, varint);
  append_varint(out, value);
}

void append_fixed64(std::string& out, std::uint32_t field, std::uint64_t value) {
  append_tag(out, field, eight_bytes);
  for (int i = 0; i < 8; ++i) out += static_cast<char>(value >> (8 * i));
}

void append_real(std::string& out, std::uint32_t field, double value) {
  append_fixed64(out, field, std::bit_cast<std::uint64_t>(value));
}

void append_bytes(std::string& out, std::uint32_t field, std::string_view bytes) {
  append_tag(out, field, length);
  append_varint(out, bytes.size());
  out += bytes;
}

}  // namespace stepscope
