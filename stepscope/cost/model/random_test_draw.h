// SPDX-License-Identifier: Apache-2.0
// Random choices for tests, identical everywhere for one seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>

namespace stepscope {

class Draw {
 public:
  explicit Draw(unsigned seed) : source_(seed) {}
  std::int64_t of(std::initializer_list<std::int64_t> choices) {
    std::uniform_int_distribution<std::size_t> index(0, choices.size() - 1);
    return *(choices.begin() + index(source_));
  }
  template <class Enum>
  Enum any(std::initializer_list<int> choices) {
    std::uniform_int_distribution<std::size_t> index(0, choices.size() - 1);
    return static_cast<Enum>(*(choices.begin() + index(source_)));
  }
  bool coin() { return of({0, 1}) == 1; }

 private:
  std::mt19937 source_;
};

}  // namespace stepscope
