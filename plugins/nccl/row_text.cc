// SPDX-License-Identifier: Apache-2.0
#include "plugins/nccl/row_text.h"

#include <charconv>
#include <cstring>

namespace stepscope::nccl {

void RowText::put(std::string_view text) {
  if (text.size() > buffer_.size() - size_) {
    overflowed_ = true;
    return;
  }
  std::memcpy(buffer_.data() + size_, text.data(), text.size());
  size_ += text.size();
}

void RowText::put_integer(std::int64_t value) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  put({digits.data(), static_cast<std::size_t>(end - digits.data())});
}

void RowText::put_unsigned(std::uint64_t value) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  put({digits.data(), static_cast<std::size_t>(end - digits.data())});
}

void RowText::put_hex(std::uint64_t value) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
  put("0x");
  put({digits.data(), static_cast<std::size_t>(end - digits.data())});
}

void RowText::put_microseconds(std::int64_t ns) {
  std::uint64_t size = static_cast<std::uint64_t>(ns);
  if (ns < 0) {
    put("-");
    size = 0 - size;
  }
  put_unsigned(size / 1000);
  const std::uint64_t rest = size % 1000;
  const std::array<char, 4> fraction = {'.', static_cast<char>('0' + rest / 100),
                                        static_cast<char>('0' + rest / 10 % 10),
                                        static_cast<char>('0' + rest % 10)};
  put({fraction.data(), fraction.size()});
}

void RowText::put_string(std::string_view text) {
  put("\"");
  for (const char c : text) {
    if (c == '"' || c == '\\') put("\\");
    const bool plain = c >= ' ' && c <= '~';
    put(plain ? std::string_view(&c, 1) : "?");
  }
  put("\"");
}

void RowText::member(const char* key, std::int64_t value) {
  put(",\"");
  put(key);
  put("\":");
  put_integer(value);
}

void RowText::member(const char* key, std::string_view value) {
  put(",\"");
  put(key);
  put("\":");
  put_string(value);
}

void RowText::member_hex(const char* key, std::uint64_t value) {
  put(",\"");
  put(key);
  put("\":\"");
  put_hex(value);
  put("\"");
}

}  // namespace stepscope::nccl
