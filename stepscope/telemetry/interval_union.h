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
  void add(Ns begin, Ns end) {
    add(begin, end, [](Ns, Ns) {});
  }
  // Adds [begin, end); empty and reversed ones are nothing. Each part of it that was not covered
  // yet is told as piece(begin, end). O(1) for intervals in order of ends.
  template <class Piece>
  void add(Ns begin, Ns end, const Piece& piece) {
    begin = std::max(begin, closed_);
    if (end <= begin) return;
    // Those that touch [begin, end) are [low, high).
    std::size_t high = count_;
    while (high > 0 && open_[high - 1].begin > end) --high;
    std::size_t low = high;
    while (low > 0 && open_[low - 1].end >= begin) --low;
    Ns uncovered = begin;
    for (std::size_t i = low; i < high; ++i) {
      cover(uncovered, open_[i].begin, piece);
      uncovered = std::max(uncovered, open_[i].end);
    }
    cover(uncovered, end, piece);
    if (low == high) {
      insert(low, begin, end);
      return;
    }
    open_[low] = {std::min(begin, open_[low].begin), std::max(end, open_[high - 1].end)};
    std::move(open_.begin() + static_cast<std::ptrdiff_t>(high),
              open_.begin() + static_cast<std::ptrdiff_t>(count_),
              open_.begin() + static_cast<std::ptrdiff_t>(low) + 1);
    count_ -= high - low - 1;
  }
  // Of everything added so far; never falls.
  [[nodiscard]] Ns covered() const { return covered_; }

 private:
  struct Interval {
    Ns begin{};
    Ns end{};
  };
  template <class Piece>
  void cover(Ns begin, Ns end, const Piece& piece) {
    if (end <= begin) return;
    covered_ += end - begin;
    piece(begin, end);
  }
  void insert(std::size_t at, Ns begin, Ns end) {
    if (count_ == open_.size()) {
      if (at == 0) {  // older than all that are kept: closed at once
        closed_ = end;
        return;
      }
      closed_ = open_[0].end;
      std::move(open_.begin() + 1, open_.end(), open_.begin());
      --count_;
      --at;
    }
    std::move_backward(open_.begin() + static_cast<std::ptrdiff_t>(at),
                       open_.begin() + static_cast<std::ptrdiff_t>(count_),
                       open_.begin() + static_cast<std::ptrdiff_t>(count_) + 1);
    open_[at] = {begin, end};
    ++count_;
  }
  std::array<Interval, 16> open_{};  // ascending, disjoint
  std::size_t count_ = 0;
  Ns closed_ = Ns::min();
  Ns covered_{};
};

}  // namespace stepscope
