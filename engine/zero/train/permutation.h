// SPDX-License-Identifier: Apache-2.0
// A shuffled order of 0 … n-1 without a table: a Feistel network (a bijection for any round
// function; Luby and Rackoff 1988) over the next even number of bits. It is repeated until the
// result is below n (fewer than four steps on average).
#pragma once

#include <cstdint>

namespace stepscope::zero {

class Permutation {
 public:
  // n >= 1; the same (n, key) gives the same order everywhere.
  Permutation(std::uint64_t n, std::uint64_t key);
  // Requires i < n. The result is below n, and different for different i.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t i) const;

 private:
  [[nodiscard]] std::uint64_t once(std::uint64_t i) const;

  std::uint64_t n_;
  std::uint64_t key_;
  unsigned half_ = 1;  // bits
};

}  // namespace stepscope::zero
