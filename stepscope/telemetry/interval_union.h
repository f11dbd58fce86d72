// SPDX-License-Identifier: Apache-2.0
// How long at least one of some intervals lasted, counted as they come, in fixed memory: intervals
// that may still be joined by later ones are kept apart, the oldest is closed when there are too
// many. What comes later and lies before the end of a closed one counts nothing (it would take 16
// gaps in flight at once).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "stepscope/base/quantity.h"

namespace stepscope {

class IntervalUnion {
 public:
  // Adds [begin, end); empty and reversed ones are nothing. O(1) for intervals in order of ends.
  void add(Ns begin, Ns end) {
    begin = std::max(begin, closed_);
    if (end <= begin) return;
    // Those that touch [begin, end) are [low, high).
    std::size_t high = count_;
    while (high > 0 && open_[high - 1].begin > end) --high;
    std::size_t low = high;
    for (; low > 0 && open_[low - 1].end >= begin; --low) {
      begin = std::min(begin, open_[low - 1].begin);
      end = std::max(end, open_[low - 1].end);
      covered_ -= open_[low - 1].end - open_[low - 1].begin;
    }
    covered_ += end - begin;
    if (low == high) {
      if (count_ == open_.size()) {
        if (low == 0) {  // older than all that are kept: closed at once
          closed_ = end;
          return;
        }
        closed_ = open_[0].end;
        std::move(open_.begin() + 1, open_.end(), open_.begin());
        --count_;
        --low;
      }
      std::move_backward(open_.begin() + static_cast<std::ptrdiff_t>(low),
                         open_.begin() + static_cast<std::ptrdiff_t>(count_),
                         open_.begin() + static_cast<std::ptrdiff_t>(count_) + 1);
      ++count_;
    } else {
      std::move(open_.begin() + static_cast<std::ptrdiff_t>(high),
                open_.begin() + static_cast<std::ptrdiff_t>(count_),
                open_.begin() + static_cast<std::ptrdiff_t>(low) + 1);
      count_ -= high - low - 1;
    }
    open_[low] = {begin, end};
  }
  // Of everything added so far; never falls.
  [[nodiscard]] Ns covered() const { return covered_; }

 private:
  struct Interval {
    Ns begin{};
    Ns end{};
  };
  std::array<Interval, 16> open_{};  // ascending, disjoint
  std::size_t count_ = 0;
  Ns closed_ = Ns::min();
  Ns covered_{};
};

}  // namespace stepscope
