// SPDX-License-Identifier: Apache-2.0
// The timing of collectives in bench/comm and its MPI peer: the same messages, timed in the same
// way.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <vector>

namespace stepscope::bench {

// The bytes of the whole message: reduce-scatter's input, all-gather's output, all-reduce's sum.
inline constexpr std::array<std::size_t, 5> comm_sizes = {1 << 10, 64 << 10, 1 << 20, 16 << 20,
                                                          64 << 20};

inline int repetitions(std::size_t bytes) {
  if (bytes >= (16U << 20U)) return 15;
  return bytes >= (1U << 20U) ? 100 : 1000;
}

// The median time of `timed`. Before each run all ranks prepare and wait for each other.
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
