// SPDX-License-Identifier: Apache-2.0
// A request to stop. Ctrl-C sets it and every long loop polls it. Setting it is async-signal-safe.
#pragma once

#include <atomic>

namespace stepscope {

class StopFlag {
 public:
  void request() noexcept { stop_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool requested() const noexcept { return stop_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> stop_{false};
};
static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace stepscope
