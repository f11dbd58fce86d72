// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/train/permutation.h"

#include <bit>

#include "stepscope/base/result.h"

namespace stepscope::zero {
namespace {

constexpr unsigned rounds = 6;

// The finalizer of SplitMix64 (Steele, Lea and Flood 2014).
constexpr std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

}  // namespace

Permutation::Permutation(std::uint64_t n, std::uint64_t key) : n_(n), key_(mixed(key)) {
  check(n >= 1, "a permutation has elements");
  const auto bits = static_cast<unsigned>(std::bit_width(n - 1));
  half_ = bits < 2 ? 1 : (bits + 1) / 2;
}

std::uint64_t Permutation::once(std::uint64_t i) const {
  const std::uint64_t mask = half_ == 32 ? 0xffffffffULL : (1ULL << half_) - 1;
  std::uint64_t left = i >> half_;
  std::uint64_t right = i & mask;
  for (std::uint64_t r = 0; r < rounds; ++r) {
    const std::uint64_t next = left ^ (mixed(right ^ mixed(key_ + r)) & mask);
    left = right;
    right = next;
  }
  return (left << half_) | right;
}

std::uint64_t Permutation::operator()(std::uint64_t i) const {
  do i = once(i);
  while (i >= n_);
  return i;
}

}  // namespace stepscope::zero
