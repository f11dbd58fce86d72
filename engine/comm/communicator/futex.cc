// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/communicator/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace stepscope::comm {
namespace {

static_assert(sizeof(std::atomic<std::uint32_t>) == 4 &&
              std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, Ns limit) {
  if (limit <= Ns{0}) return;
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(limit);
  const timespec timeout{.tv_sec = whole.count(), .tv_nsec = (limit - whole).count()};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &timeout, nullptr, 0);
}

void futex_wake_all(std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace stepscope::comm
