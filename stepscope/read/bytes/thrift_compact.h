// SPDX-License-Identifier: Apache-2.0
// Thrift's compact protocol (thrift-compact-protocol.md), read within bounds. The metadata of
// Parquet files uses it. After an error the reader is no longer `good()` and returns zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stepscope {

enum class ThriftType : std::uint8_t {
  stop = 0,
  yes = 1,
  no = 2,
  i8 = 3,
  i16 = 4,
  i32 = 5,
  i64 = 6,
  real = 7,
  binary = 8,
  list = 9,
  set = 10,
  map = 11,
  structure = 12,
};

struct ThriftField {
  int id = 0;
  ThriftType type = ThriftType::stop;
};

class ThriftReader {
 public:
  explicit ThriftReader(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] std::size_t position() const { return at_; }

  // The next field of a structure; `last` is the id of the previous one (0 for none). `stop` at its
  // end. The caller reads or skips the value.
  ThriftField field(int last);
  // i8 to i64.
  std::int64_t integer(ThriftType type);
  std::string_view binary();
  // The number and type of the elements that follow; each takes at least a byte.
  std::size_t list(ThriftType& element);
  void skip(ThriftType type, int depth = 0);

 private:
  std::uint8_t byte();
  std::uint64_t varint();
  void fail() { good_ = false; }

  std::string_view bytes_;
  std::size_t at_ = 0;
  bool good_ = true;
};

}  // namespace stepscope
