// SPDX-License-Identifier: Apache-2.0
// Offsets and drift of clocks, from events that happened at the same time on several of them:
//   end(h, c) = E(c) + offset(h) + drift(h) (t(c) - at) + noise
// for the end of collective c on clock h. Offsets are relative to the first clock of each connected
// part, whose offset and drift are 0. The noise may contain outliers: the fit uses least absolute
// deviations first, then Tukey's biweight at 4.685 standard deviations (Huber and Ronchetti, Robust
// Statistics, 7.8).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stepscope/base/quantity.h"

namespace stepscope {

struct ClockEnd {
  std::uint32_t clock = 0;
  Ns end{};
};

// One collective. Its ends are of different clocks.
struct SharedEnd {
  std::uint32_t first = 0;  // its ends are [first, first + count)
  std::uint32_t count = 0;
  Ns scale{};  // largest expected distance of its true ends, above 0; its weight is the inverse
};

struct SharedEnds {
  std::vector<SharedEnd> shared;  // by time
  std::vector<ClockEnd> ends;
  std::uint32_t clocks = 0;

  [[nodiscard]] std::span<const ClockEnd> of(const SharedEnd& s) const {
    return std::span(ends).subspan(s.first, s.count);
  }
};

struct ClockFit {
  std::vector<double> offset_ns;    // by clock, at the instant `at`
  std::vector<double> drift;        // by clock; 0 unless fitted
  std::vector<double> error_ns;     // of the offset: one standard error of the robust mean
  std::vector<std::uint32_t> part;  // by clock: the lowest clock it is joined to
  double noise_ns = 0;              // four standard deviations of a typical end, at least 1 us
  Ns at{};                          // the middle of the events

  [[nodiscard]] double offset_at(std::uint32_t clock, Ns t) const {
    return offset_ns[clock] + drift[clock] * static_cast<double>((t - at).count());
  }
};

// Fits shared[first, last). O(iterations x ends). `near`, a fit of the same clocks or null, is
// where the search begins: from nowhere, clocks that drift take many more iterations the more there
// are.
[[nodiscard]] ClockFit fit_clocks(const SharedEnds& data, std::size_t first, std::size_t last,
                                  bool with_drift, const ClockFit* near = nullptr);

// Last end - first end of each of shared[first, last), after the correction by `fit`.
[[nodiscard]] std::vector<double> end_spreads(const SharedEnds& data, std::size_t first,
                                              std::size_t last, const ClockFit* fit);

// offset(ahead) - offset(behind) <= most: an event of `behind` came before an event of `ahead`.
struct ClockBound {
  std::uint32_t ahead = 0;
  std::uint32_t behind = 0;
  Ns most{};
};
// Moves offsets as little as the bounds require. Each pair moves by halves; the first clock of each
// part stays at 0. Returns false, and moves nothing, if the bounds contradict each other (a cycle
// with a sum below 0, Bellman and Ford).
[[nodiscard]] bool satisfy_bounds(std::span<const ClockBound> bounds, ClockFit& fit);

}  // namespace stepscope
