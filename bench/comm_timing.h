// SPDX-License-Identifier: Apache-2.0
// How bench/comm and its MPI peer time collectives: the same messages, the same way.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <vector>

namespace stepscope::bench {

// Of the whole message: what reduce-scatter takes, all-gather gives, all-reduce sums.
inline constexpr std::array<std::size_t, 5> comm_sizes = {1 << 10, 64 << 10, 1 << 20, 16 << 20,
                                                          64 << 20};

inline int repetitions(std::size_t bytes) {
  if (bytes >= (16U << 20U)) return 15;
  return bytes >= (1U << 20U) ? 100 : 1000;
}

// Median of how long `timed` takes; before each time everybody prepares and meets.
template <class Prepare, class Meet, class Timed>
double median_seconds(int times, Prepare&& prepare, Meet&& meet, Timed&& timed) {
  std::vector<double> all;
  for (int i = 0; i < times + 2; ++i) {
    prepare();
    meet();
    const auto begin = std::chrono::steady_clock::now();
    timed();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (i >= 2) all.push_back(took.count());  // the first two warm up
  }
  std::ranges::nth_element(all, all.begin() + times / 2);
  return all[static_cast<std::size_t>(times / 2)];
}

inline void print_row(const char* what, std::size_t bytes, double seconds) {
  std::printf("%s %zu %.9f\n", what, bytes, seconds);
}

}  // namespace stepscope::bench
