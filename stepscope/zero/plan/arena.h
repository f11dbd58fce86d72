// SPDX-License-Identifier: Apache-2.0
// Memory for one purpose, taken from the system once: zeroed, aligned to pages, in huge pages where
// it is large and the system has them. First touched by whoever uses it.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"

namespace stepscope::zero {

class Arena {
 public:
  Arena() = default;
  // `what` names it in the error when the system has no room for it.
  [[nodiscard]] static Result<Arena> map(Bytes bytes, std::string_view what);
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
  // `count` elements from byte `at` on; within the arena, or a failed check().
  template <class T>
  [[nodiscard]] std::span<T> part(std::int64_t at, std::int64_t count) const {
    const auto bytes = inside(at, count * static_cast<std::int64_t>(sizeof(T)));
    return {reinterpret_cast<T*>(bytes.data()), static_cast<std::size_t>(count)};
  }
  // Bytes of it that the system has given real memory, in whole pages.
  [[nodiscard]] Bytes resident() const;

 private:
  [[nodiscard]] std::span<std::byte> inside(std::int64_t at, std::int64_t bytes) const;
  std::span<std::byte> bytes_;
  std::size_t mapped_ = 0;
};

}  // namespace stepscope::zero
