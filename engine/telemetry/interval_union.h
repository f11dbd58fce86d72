// SPDX-License-Identifier: Apache-2.0
// The length of the union of intervals, computed as they come, in fixed memory. Intervals that
// later ones may still join are kept separately; if there are too many, the oldest is closed. A
// later interval before the end of a closed one is not counted (that needs 16 gaps in flight at
// once).
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
  // Adds [begin, end); empty and reversed ones are ignored. Calls piece(begin, end) for each part
  // that was not yet covered. O(1) for intervals in order of their ends.
  template <class Piece>
  void add(Ns begin, Ns end, const Piece& piece) {
    begin = std::max(begin, closed_);
    if (end <= begin) return;
    if (first_ == last_ || open_[last_ - 1].end < begin) {  // the usual case
      cover(begin, end, piece);
      return insert(last_, begin, end);
    }
    // The intervals that touch [begin, end) are [low, high).
    std::size_t high = last_;
    while (high > first_ && open_[high - 1].begin > end) --high;
    std::size_t low = high;
    while (low > first_ && open_[low - 1].end >= begin) --low;
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
    std::move(place(high), place(last_), place(low) + 1);
    last_ -= high - low - 1;
  }
  // Covered by everything added so far; never decreases.
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
    if (last_ - first_ == most_open) {
      if (at == first_) {  // older than all open intervals: closed at once
        closed_ = end;
        return;
      }
      closed_ = open_[first_++].end;
    }
    if (last_ == open_.size()) {
      std::move(place(first_), place(last_), place(0));
      at -= first_;
      last_ -= first_;
      first_ = 0;
    }
    std::move_backward(place(at), place(last_), place(last_) + 1);
    open_[at] = {begin, end};
    ++last_;
  }
  static constexpr std::size_t most_open = 16;
  using Open = std::array<Interval, 4 * most_open>;  // larger, so that closing rarely moves them
  Open::iterator place(std::size_t i) { return open_.begin() + static_cast<std::ptrdiff_t>(i); }

  Open open_{};  // [first_, last_): ascending, disjoint
  std::size_t first_ = 0;
  std::size_t last_ = 0;
  Ns closed_ = Ns::min();
  Ns covered_{};
};

}  // namespace stepscope
