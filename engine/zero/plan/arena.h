// SPDX-License-Identifier: Apache-2.0
// Memory for one purpose, allocated once: zeroed and aligned to pages. Large arenas use huge pages
// if the system has them. The first user touches the pages first.
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
  // `what` names the arena in the error if there is no memory.
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
  // The resident bytes, in whole pages.
  [[nodiscard]] Bytes resident() const;

 private:
  [[nodiscard]] std::span<std::byte> inside(std::int64_t at, std::int64_t bytes) const;
  std::span<std::byte> bytes_;
  std::size_t mapped_ = 0;
};

}  // namespace stepscope::zero
