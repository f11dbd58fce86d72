// SPDX-License-Identifier: Apache-2.0
// Assigns places in one arena to objects that come and go in a known order: each gets the lowest
// gap that fits.
#pragma once

#include <cstdint>
#include <map>

namespace stepscope::zero {

class PlacePool {
 public:
  // The place in bytes from the start of the arena, a multiple of 64. `used` of the `bytes` hold
  // elements.
  [[nodiscard]] std::int64_t take(std::int64_t bytes, std::int64_t used);
  void give_back(std::int64_t place);

  [[nodiscard]] std::int64_t extent() const { return extent_; }        // of the arena
  [[nodiscard]] std::int64_t peak_used() const { return peak_used_; }  // of elements at once

 private:
  struct Taken {
    std::int64_t bytes = 0;
    std::int64_t used = 0;
  };
  std::map<std::int64_t, Taken> taken_;
  std::int64_t extent_ = 0;
  std::int64_t used_ = 0;
  std::int64_t peak_used_ = 0;
};

}  // namespace stepscope::zero
