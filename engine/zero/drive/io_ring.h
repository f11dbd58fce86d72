// SPDX-License-Identifier: Apache-2.0
// The offload file's use of io_uring: reads and writes are submitted at once and reaped later.
// Without liburing, open() reports that.
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
  // Null, with the reason, if the system or the build has no io_uring.
  [[nodiscard]] static std::unique_ptr<IoRing> open(unsigned entries, std::string& why_not);
  virtual ~IoRing() = default;
  // Returns 0 or errno. At most `entries` operations may be unfinished.
  [[nodiscard]] virtual int submit(int fd, bool write, std::uint64_t offset, std::byte* memory,
                                   std::size_t bytes, std::uint64_t tag) = 0;
  // The next completion. Without `block`, empty if no completion is ready. Also empty if the wait
  // fails, with errno in `failed`.
  [[nodiscard]] virtual std::optional<IoCompletion> reap(bool block, int& failed) = 0;
};

}  // namespace stepscope::zero
