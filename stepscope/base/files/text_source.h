// SPDX-License-Identifier: Apache-2.0
// Bytes in memory as a ByteSource.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "stepscope/base/byte_source.h"

namespace stepscope {

// Refers to `text`, which must outlive it. damage() returns `damage`.
class TextSource final : public ByteSource {
 public:
  explicit TextSource(std::string_view text, std::string damage = {})
      : text_(text), damage_(std::move(damage)) {}
  Result<std::size_t> read(std::span<char> into) override {
    const std::string_view part = text_.substr(at_, into.size());
    std::ranges::copy(part, into.begin());
    at_ += part.size();
    return part.size();
  }
  [[nodiscard]] std::uint64_t position() const override { return at_; }
  [[nodiscard]] std::string damage() const override { return damage_; }

 private:
  std::string_view text_;
  std::string damage_;
  std::size_t at_ = 0;
};

}  // namespace stepscope
