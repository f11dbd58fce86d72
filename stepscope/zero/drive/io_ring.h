// SPDX-License-Identifier: Apache-2.0
// io_uring as the offload file uses it: reads and writes that are submitted at once and reaped
// later. Without liburing, open() says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace stepscope::zero {

struct IoCompletion {
  std::uint64_t tag = 0;
  int result = 0;  // bytes moved, or -errno
};

class IoRing {
 public:
  // Null, and why, where the system or the build has none.
  [[nodiscard]] static std::unique_ptr<IoRing> open(unsigned entries, std::string& why_not);
  virtual ~IoRing() = default;
  // 0, or errno. At most `entries` may be under way.
  [[nodiscard]] virtual int submit(int fd, bool write, std::uint64_t offset, std::byte* memory,
                                   std::size_t bytes, std::uint64_t tag) = 0;
  // The next completion; without `block` nothing where none is there. Nothing also when the wait
  // fails, with errno in `failed`.
  [[nodiscard]] virtual std::optional<IoCompletion> reap(bool block, int& failed) = 0;
};

}  // namespace stepscope::zero
