// SPDX-License-Identifier: Apache-2.0
// Runs body(i) for i in [0, count) on up to `threads` threads, the caller among them. Indices are
// handed out in order, one at a time, so each needs enough work. Returns when all have run. body
// must not throw.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace stepscope {

template <class Body>
void parallel_for(std::size_t count, unsigned threads, Body&& body) {
  if (threads <= 1 || count <= 1) {
    for (std::size_t i = 0; i < count; ++i) body(i);
    return;
  }
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) body(i);
  };
  std::vector<std::jthread> others;
  const std::size_t extra = (count < threads ? count : threads) - 1;
  others.reserve(extra);
  for (std::size_t t = 0; t < extra; ++t) others.emplace_back(work);
  work();
}

// Runs body(first, last) for stretches [first, last) of [0, count), each of 65,536 or fewer.
template <class Body>
void parallel_stretches(std::size_t count, unsigned threads, Body&& body) {
  constexpr std::size_t most = std::size_t{1} << 16;
  parallel_for((count + most - 1) / most, threads,
               [&](std::size_t i) { body(i * most, std::min(count, (i + 1) * most)); });
}

}  // namespace stepscope
