// SPDX-License-Identifier: Apache-2.0
// Time against size in pieces, time = start + slope * size, as transfers take it: each protocol of
// a library has a start-up time and a rate of its own. Errors are relative, so small sizes count as
// much as large ones; outlying calls and sizes are held down (Huber's weights, 95 % efficient for
// normal noise); where pieces meet is searched over all divisions (dynamic programming), how many
// there are by the Bayesian information criterion; they need not meet in one point. R^2 says
// nothing about such data: the largest times hide all others.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace stepscope {

struct SizedTime {  // one call; both above 0, or it is left out
  double size = 0;
  double time = 0;
};

struct Interval {
  double low = 0;
  double high = 0;
};

struct AlphaBetaPiece {
  double from = 0;  // smallest and largest size measured in it
  double to = 0;
  double start = 0;         // alpha, at least 0
  double slope = 0;         // 1 / beta, at least 0; 0: the time does not grow within the piece
  Interval start_interval;  // 95 %, bootstrap over calls
  Interval slope_interval;
  std::size_t sizes = 0;
  std::size_t calls = 0;
};

struct AlphaBetaFit {
  std::vector<AlphaBetaPiece> pieces;  // by size
  double mean_error = 0;               // |fitted / typical time of the size - 1|, over sizes
  double max_error = 0;
  std::size_t sizes = 0;
  std::size_t calls = 0;

  [[nodiscard]] double smallest() const { return pieces.front().from; }
  [[nodiscard]] double largest() const { return pieces.back().to; }
};

enum class FitRefusal { none, no_call, one_call, too_few_sizes, no_growth };

struct AlphaBetaAnswer {
  std::optional<AlphaBetaFit> fit;
  FitRefusal refusal = FitRefusal::none;
  std::size_t sizes = 0;  // that were there
  std::size_t calls = 0;
};

struct AlphaBetaOptions {
  std::size_t most_pieces = 5;
  int replicates = 200;  // of the bootstrap
};

inline constexpr std::size_t least_sizes_of_piece = 3;
inline constexpr double most_extrapolation = 4;

// Deterministic. O(calls log calls) and, of S sizes, O(S min(S, 64)^2).
[[nodiscard]] AlphaBetaAnswer fit_alpha_beta(std::span<const SizedTime> calls,
                                             const AlphaBetaOptions& options = {});

// Absent for a size more than four times beyond those measured, on either side. Between two pieces
// the nearer one (by ratio) holds.
[[nodiscard]] std::optional<double> predicted_time(const AlphaBetaFit& fit, double size);

// The usual time at each size, ascending: the points that a fit is held against.
[[nodiscard]] std::vector<SizedTime> typical_times(std::span<const SizedTime> calls);

}  // namespace stepscope
