// SPDX-License-Identifier: Apache-2.0
// Fits transfer times in pieces, time = start + slope * size. Each protocol of a library has its
// own start-up time and rate. Errors are relative, so small sizes count as much as large ones.
// Huber's weights limit outlying calls and sizes (95 % efficient for normal noise). Dynamic
// programming searches the boundaries over all divisions. The Bayesian information criterion
// chooses the number of pieces. Pieces need not meet. R^2 is reported and decides nothing: the
// largest times hide all others in it.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace stepscope {

struct SizedTime {  // one call; left out unless both are above 0
  double size = 0;
  double time = 0;
};

struct Interval {
  double low = 0;
  double high = 0;
};

struct AlphaBetaPiece {
  double from = 0;  // smallest and largest measured size
  double to = 0;
  double start = 0;         // alpha, at least 0
  double slope = 0;         // 1 / beta, at least 0; 0: constant time within the piece
  Interval start_interval;  // 95 %, by the scatter of its sizes about the line
  Interval slope_interval;
  std::size_t sizes = 0;
  std::size_t calls = 0;
};

struct AlphaBetaFit {
  std::vector<AlphaBetaPiece> pieces;  // by size
  double mean_error = 0;               // |fitted / typical time of the size - 1|, mean over sizes
  double max_error = 0;
  double r_squared = 0;  // over the typical times of all sizes
  std::size_t sizes = 0;
  std::size_t calls = 0;

  [[nodiscard]] double smallest() const { return pieces.front().from; }
  [[nodiscard]] double largest() const { return pieces.back().to; }
};

enum class FitRefusal { none, no_call, one_call, too_few_sizes, no_growth };

struct AlphaBetaAnswer {
  std::optional<AlphaBetaFit> fit;
  FitRefusal refusal = FitRefusal::none;
  std::size_t sizes = 0;  // sizes in the input
  std::size_t calls = 0;
};

inline constexpr std::size_t least_sizes_of_piece = 3;
inline constexpr double most_extrapolation = 4;

// Deterministic. O(calls log calls) and, for S sizes, O(S min(S, 64)^2).
[[nodiscard]] AlphaBetaAnswer fit_alpha_beta(std::span<const SizedTime> calls,
                                             std::size_t most_pieces = 5);

// Absent for a size more than four times outside the measured range. Between two pieces the nearer
// one (by ratio) applies.
[[nodiscard]] std::optional<double> predicted_time(const AlphaBetaFit& fit, double size);

// The typical time at each size, in ascending order of size: the points that are fitted.
[[nodiscard]] std::vector<SizedTime> typical_times(std::span<const SizedTime> calls);

}  // namespace stepscope
