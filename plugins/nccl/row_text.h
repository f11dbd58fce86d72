// SPDX-License-Identifier: Apache-2.0
// JSON text in a buffer of fixed size: never allocates, never throws.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stepscope::nccl {

class RowText {
 public:
  void put(std::string_view text);
  void put_integer(std::int64_t value);
  void put_unsigned(std::uint64_t value);
  void put_hex(std::uint64_t value);       // 0x1f
  void put_microseconds(std::int64_t ns);  // 1234.567
  void put_string(std::string_view text);  // quoted and escaped; bytes beyond ASCII as '?'
  void member(const char* key, std::int64_t value);       // ,"key":value
  void member(const char* key, std::string_view value);   // ,"key":"value"
  void member_hex(const char* key, std::uint64_t value);  // ,"key":"0x1f"

  [[nodiscard]] std::string_view text() const { return {buffer_.data(), size_}; }
  // Whether the buffer was too small. The text is then useless.
  [[nodiscard]] bool overflowed() const { return overflowed_; }

 private:
  std::array<char, 4096> buffer_;  // the first `size_` are set
  std::size_t size_ = 0;
  bool overflowed_ = false;
};

}  // namespace stepscope::nccl
