// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/bytes/thrift_compact.h"

namespace stepscope {
namespace {

constexpr int most_depth = 16;

std::int64_t from_zigzag(std::uint64_t v) {
  return static_cast<std::int64_t>((v >> 1U) ^ (~(v & 1U) + 1));
}

}  // namespace

std::uint8_t ThriftReader::byte() {
  if (at_ >= bytes_.size()) {
    fail();
    return 0;
  }
  return static_cast<std::uint8_t>(bytes_[at_++]);
}

std::uint64_t ThriftReader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const std::uint8_t b = byte();
    value |= std::uint64_t{b & 0x7fU} << shift;
    if (b < 0x80) return value;
  }
  fail();
  return 0;
}

ThriftField ThriftReader::field(int last) {
  const std::uint8_t head = byte();
  if (!good_ || head == 0) return {};
  const unsigned type = head & 0xfU;
  if (type == 0 || type > static_cast<unsigned>(ThriftType::structure)) {
    fail();
    return {};
  }
  const int delta = head >> 4U;
  const std::int64_t id = delta != 0 ? last + delta : from_zigzag(varint());
  if (!good_ || id < 0 || id > 0x7fff) {
    fail();
    return {};
  }
  return {static_cast<int>(id), static_cast<ThriftType>(type)};
}

std::int64_t ThriftReader::integer(ThriftType type) {
  switch (type) {
    case ThriftType::i8:
      return static_cast<std::int8_t>(byte());
    case ThriftType::i16:
    case ThriftType::i32:
    case ThriftType::i64:
      return from_zigzag(varint());
    default:
      fail();
      return 0;
  }
}

std::string_view ThriftReader::binary() {
  const std::uint64_t size = varint();
  if (!good_ || size > bytes_.size() - at_) {
    fail();
    return {};
  }
  const std::string_view value = bytes_.substr(at_, size);
  at_ += size;
  return value;
}

std::size_t ThriftReader::list(ThriftType& element) {
  const std::uint8_t head = byte();
  std::uint64_t size = head >> 4U;
  if (size == 0xf) size = varint();
  const unsigned type = head & 0xfU;
  if (!good_ || type > static_cast<unsigned>(ThriftType::structure) || size > bytes_.size() - at_) {
    fail();
    return 0;
  }
  element = static_cast<ThriftType>(type);
  return size;
}

void ThriftReader::skip(ThriftType type, int depth) {
  if (depth > most_depth) fail();
  if (!good_) return;
  switch (type) {
    case ThriftType::stop:
      return fail();
    case ThriftType::yes:
    case ThriftType::no:
      return;
    case ThriftType::i8:
    case ThriftType::i16:
    case ThriftType::i32:
    case ThriftType::i64:
      integer(type);
      return;
    case ThriftType::real:
      if (bytes_.size() - at_ < 8) return fail();
      at_ += 8;
      return;
    case ThriftType::binary:
      binary();
      return;
    case ThriftType::list:
    case ThriftType::set: {
      ThriftType element{};
      const std::size_t size = list(element);
      const bool flags = element == ThriftType::yes || element == ThriftType::no;
      for (std::size_t i = 0; i < size && good_; ++i) {
        if (flags)
          byte();
        else
          skip(element, depth + 1);
      }
      return;
    }
    case ThriftType::map:
      return fail();  // not used in Parquet
    case ThriftType::structure: {
      int last = 0;
      for (ThriftField f = field(last); f.type != ThriftType::stop; f = field(last)) {
        last = f.id;
        skip(f.type, depth + 1);
      }
      return;
    }
  }
}

}  // namespace stepscope
