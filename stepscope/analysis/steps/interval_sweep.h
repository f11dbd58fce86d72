// SPDX-License-Identifier: Apache-2.0
// Interval algebra. Intervals are added to numbered layers in any order. One pass over their sorted
// edges visits every stretch of time with the number of open intervals of each layer. All unions,
// intersections and differences of layers come from this one pass. O(N log N), 16 bytes per edge.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stepscope/base/quantity.h"
#include "stepscope/base/run_sort.h"

namespace stepscope {

template <std::size_t layers>
class IntervalSweep {
 public:
  using Open = std::array<std::int32_t, layers>;  // number of open intervals per layer

  void reserve(std::size_t intervals) { edges_.reserve(2 * intervals); }

  // Adds [start, end); an empty interval adds nothing.
  void add(std::size_t layer, Ns start, Ns end) {
    if (start >= end) return;
    const auto tag = static_cast<std::int32_t>(layer) + 1;
    edges_.push_back({start, tag});
    edges_.push_back({end, -tag});
  }

  // Calls visit(start, end, open) for stretches that tile [from, to) in order. Counts are constant
  // on each stretch. May be called once.
  template <class Visit>
  void run(Ns from, Ns to, Visit&& visit) {
    run_sort(edges_, [](Edge a, Edge b) { return a.at < b.at; });
    Open open{};
    Ns cursor = from;
    for (const Edge edge : edges_) {
      const Ns at = std::min(edge.at, to);
      if (at > cursor) {
        visit(cursor, at, open);
        cursor = at;
      }
      if (edge.tag > 0) {
        ++open[static_cast<std::size_t>(edge.tag - 1)];
      } else {
        --open[static_cast<std::size_t>(-edge.tag - 1)];
      }
    }
    if (cursor < to) visit(cursor, to, open);
  }

 private:
  struct Edge {
    Ns at;
    std::int32_t tag;  // layer + 1; negative where the interval ends
  };
  std::vector<Edge> edges_;
};

// The length of a union of intervals that come by start.
struct CoveredTime {
  Ns total{};
  Ns until = Ns::min();

  void add(Ns start, Ns end) {
    if (end <= until) return;
    total += end - std::max(start, until);
    until = end;
  }
};

}  // namespace stepscope
