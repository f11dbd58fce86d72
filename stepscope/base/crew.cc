// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/crew.h"

#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace stepscope {

void run_indices(std::size_t count, unsigned threads, IndexBody body) {
  if (threads <= 1 || count <= 1) {
    for (std::size_t i = 0; i < count; ++i) body.call(body.its, i);
    return;
  }
  std::atomic<std::size_t> next{0};
  std::exception_ptr thrown;
  std::mutex guard;
  const auto work = [&] {
    try {
      for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1))
        body.call(body.its, i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(guard);
      if (!thrown) thrown = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    const std::size_t extra = (count < threads ? count : threads) - 1;
    others.reserve(extra);
    try {
      for (std::size_t t = 0; t < extra; ++t) others.emplace_back(work);
    } catch (const std::system_error&) {
      // The system grants no more threads. The running ones do the work.
    }
    work();
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace stepscope
