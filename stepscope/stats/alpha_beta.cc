// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/alpha_beta.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "stepscope/stats/student_t.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr double huber_reach = 1.345;
constexpr double normal_mad = 1.4826;
constexpr double least_noise = 1e-4;  // relative: clocks count whole nanoseconds
constexpr std::size_t most_boundaries = 64;
// Start, slope and boundary. The boundary counts twice because it is the best of many positions.
constexpr double parameters_of_piece = 4;

struct Size {
  double size = 0;
  std::vector<double> times;
};

struct Line {
  double start = 0;
  double slope = 0;
  [[nodiscard]] double at(double size) const { return start + slope * size; }
};

std::vector<Size> by_size(std::span<const SizedTime> calls) {
  std::vector<SizedTime> sorted;
  for (const SizedTime& c : calls)
    if (c.size > 0 && c.time > 0 && std::isfinite(c.size) && std::isfinite(c.time))
      sorted.push_back(c);
  std::ranges::sort(sorted, {}, [](const SizedTime& c) { return std::pair(c.size, c.time); });
  std::vector<Size> sizes;
  for (const SizedTime& c : sorted) {
    if (sizes.empty() || sizes.back().size != c.size) sizes.push_back({c.size, {}});
    sizes.back().times.push_back(c.time);
  }
  return sizes;
}

// Huber's location, scaled by the median deviation; the median of fewer than four values.
double typical(std::span<const double> times) {
  const double middle = *median(times);
  if (times.size() < 4) return middle;
  std::vector<double> off;
  off.reserve(times.size());
  for (const double t : times) off.push_back(std::abs(t - middle));
  const double reach = huber_reach * normal_mad * *median(off);
  if (reach <= 0) return middle;
  double at = middle;
  for (int round = 0; round < 20; ++round) {
    double sum = 0;
    double weights = 0;
    for (const double t : times) {
      const double w = std::min(1.0, reach / std::max(std::abs(t - at), 1e-300));
      sum += w * t;
      weights += w;
    }
    const double next = sum / weights;
    const bool done = std::abs(next - at) <= 1e-9 * at;
    at = next;
    if (done) break;
  }
  return at;
}

std::vector<SizedTime> typical_points(std::span<const Size> sizes) {
  std::vector<SizedTime> points;
  points.reserve(sizes.size());
  for (const Size& s : sizes) points.push_back({s.size, typical(s.times)});
  return points;
}

// The noise of one size's typical time: its distance from the line through its neighbours.
double roughness(std::span<const SizedTime> points) {
  std::vector<double> off;
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    const SizedTime& a = points[i - 1];
    const SizedTime& b = points[i + 1];
    const double share = (points[i].size - a.size) / (b.size - a.size);
    const double between = a.time + share * (b.time - a.time);
    off.push_back(std::abs(points[i].time / between - 1) / std::sqrt(1.5));
  }
  if (off.empty()) return least_noise;
  return std::max(least_noise, normal_mad * *median(off));
}

// Weighted least squares of relative errors, neither parameter below 0.
Line weighted_line(std::span<const SizedTime> points, std::span<const double> weights) {
  double aa = 0;
  double ab = 0;
  double bb = 0;
  double a1 = 0;
  double b1 = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double a = 1 / points[i].time;
    const double b = points[i].size / points[i].time;
    aa += weights[i] * a * a;
    ab += weights[i] * a * b;
    bb += weights[i] * b * b;
    a1 += weights[i] * a;
    b1 += weights[i] * b;
  }
  const double det = aa * bb - ab * ab;
  Line line{.start = a1 / aa, .slope = 0};
  if (det > 1e-12 * aa * bb) line = {(a1 * bb - b1 * ab) / det, (b1 * aa - a1 * ab) / det};
  if (line.start < 0) line = {0, b1 / bb};
  if (line.slope < 0) line = {a1 / aa, 0};
  return line;
}

Line robust_line(std::span<const SizedTime> points, double noise) {
  std::vector<double> weights(points.size(), 1);
  std::vector<double> off(points.size());
  Line line = weighted_line(points, weights);
  for (int round = 0; round < 15; ++round) {
    for (std::size_t i = 0; i < points.size(); ++i)
      off[i] = std::abs(line.at(points[i].size) / points[i].time - 1);
    const double scale = std::max(noise, normal_mad * *median(off));
    for (std::size_t i = 0; i < points.size(); ++i)
      weights[i] = std::min(1.0, huber_reach * scale / std::max(off[i], 1e-300));
    const Line next = weighted_line(points, weights);
    const bool done = std::abs(next.start - line.start) <= 1e-9 * line.start &&
                      std::abs(next.slope - line.slope) <= 1e-9 * line.slope;
    line = next;
    if (done) break;
  }
  return line;
}

// Quadratic up to twice the noise, then linear, so that an outlying size does not cause a piece.
double loss(std::span<const SizedTime> points, const Line& line, double noise) {
  const double reach = 2 * noise;
  double sum = 0;
  for (const SizedTime& p : points) {
    const double off = std::abs(line.at(p.size) / p.time - 1);
    sum += off <= reach ? off * off : 2 * reach * off - reach * reach;
  }
  return sum;
}

// Searches all divisions at up to 64 boundaries. Each piece has enough sizes. Returns the first
// points of the pieces, and the end.
std::vector<std::size_t> divide(std::span<const SizedTime> points, double noise,
                                std::size_t most_pieces) {
  const std::size_t steps = std::min(points.size(), most_boundaries);
  std::vector<std::size_t> cuts;
  for (std::size_t k = 0; k <= steps; ++k) cuts.push_back(k * points.size() / steps);
  const auto cost = [&](std::size_t i, std::size_t j) {
    const auto piece = points.subspan(cuts[i], cuts[j] - cuts[i]);
    return loss(piece, robust_line(piece, noise), noise);
  };
  const std::size_t ends = cuts.size();
  const auto n = static_cast<double>(points.size());
  constexpr double never = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> single(ends, std::vector<double>(ends, never));
  for (std::size_t i = 0; i < ends; ++i)
    for (std::size_t j = i + 1; j < ends; ++j)
      if (cuts[j] - cuts[i] >= least_sizes_of_piece) single[i][j] = cost(i, j);
  std::vector<std::vector<double>> least = {single[0]};  // [pieces - 1][end]
  std::vector<std::vector<std::size_t>> from = {std::vector<std::size_t>(ends, 0)};
  const auto criterion = [&](std::size_t pieces) {
    const double mean = std::max(least[pieces - 1][ends - 1] / n, noise * noise);
    return n * std::log(mean) + parameters_of_piece * static_cast<double>(pieces) * std::log(n);
  };
  std::size_t best = 1;
  for (std::size_t pieces = 2; pieces <= most_pieces; ++pieces) {
    std::vector<double>& now = least.emplace_back(ends, never);
    std::vector<std::size_t>& back = from.emplace_back(ends, 0);
    for (std::size_t j = 1; j < ends; ++j)
      for (std::size_t i = 1; i < j; ++i) {
        const double sum = least[pieces - 2][i] + single[i][j];
        if (sum >= now[j]) continue;
        now[j] = sum;
        back[j] = i;
      }
    if (std::isinf(now[ends - 1])) break;
    if (criterion(pieces) < criterion(best)) best = pieces;
  }
  std::vector<std::size_t> firsts = {points.size()};
  std::size_t end = ends - 1;
  for (std::size_t pieces = best; pieces > 0; --pieces) {
    end = from[pieces - 1][end];
    firsts.push_back(cuts[end]);
  }
  std::ranges::reverse(firsts);
  return firsts;
}

// 95 % intervals of both parameters. Each size is one observation, because the calls of a size
// share what is particular to it. Huber's weights (Huber 1981, section 7.6) with variances that may
// differ by size (HC3 of MacKinnon and White 1985), and Student's t for the few degrees of freedom.
void add_intervals(std::span<const SizedTime> points, double noise, AlphaBetaPiece& piece) {
  const Line line{piece.start, piece.slope};
  const auto n = static_cast<double>(points.size());
  std::vector<double> off;
  for (const SizedTime& p : points) off.push_back(1 - line.at(p.size) / p.time);
  std::vector<double> distance = off;
  for (double& d : distance) d = std::abs(d);
  const double reach = huber_reach * std::max(noise, normal_mad * *median(distance));
  double aa = 0;
  double ab = 0;
  double bb = 0;
  double inner = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double a = 1 / points[i].time;
    const double b = points[i].size / points[i].time;
    aa += a * a;
    ab += a * b;
    bb += b * b;
    if (distance[i] <= reach) inner += 1 / n;
  }
  const double det = aa * bb - ab * ab;
  double start = 0;  // variances
  double slope = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double a = 1 / points[i].time;
    const double b = points[i].size / points[i].time;
    const double lever = std::min(0.99, (bb * a * a - 2 * ab * a * b + aa * b * b) / det);
    const double error = std::clamp(off[i], -reach, reach) / (1 - lever) / inner;
    start += std::pow((bb * a - ab * b) / det * error, 2);
    slope += std::pow((aa * b - ab * a) / det * error, 2);
  }
  const double t = student_t_critical(0.05, n - 2);
  const auto around = [t](double value, double variance) {
    const double reached = t * std::sqrt(variance);
    return Interval{std::max(0.0, value - reached), value + reached};
  };
  piece.start_interval = around(line.start, start);
  piece.slope_interval = around(line.slope, slope);
}

AlphaBetaPiece fit_piece(std::span<const Size> sizes, std::span<const SizedTime> points,
                         double noise) {
  const Line line = robust_line(points, noise);
  AlphaBetaPiece piece{.from = points.front().size,
                       .to = points.back().size,
                       .start = line.start,
                       .slope = line.slope,
                       .start_interval = {},
                       .slope_interval = {},
                       .sizes = sizes.size()};
  for (const Size& s : sizes) piece.calls += s.times.size();
  add_intervals(points, noise, piece);
  return piece;
}

// The coefficient of determination.
double determination(const AlphaBetaFit& fit, std::span<const SizedTime> points) {
  double mean = 0;
  for (const SizedTime& p : points) mean += p.time / static_cast<double>(points.size());
  double off = 0;
  double all = 0;
  for (const SizedTime& p : points) {
    off += std::pow(p.time - *predicted_time(fit, p.size), 2);
    all += std::pow(p.time - mean, 2);
  }
  return all > 0 ? 1 - off / all : 0;
}

}  // namespace

AlphaBetaAnswer fit_alpha_beta(std::span<const SizedTime> calls, std::size_t most_pieces) {
  const std::vector<Size> sizes = by_size(calls);
  AlphaBetaAnswer answer{.fit = {}, .sizes = sizes.size()};
  for (const Size& s : sizes) answer.calls += s.times.size();
  const auto refuse = [&](FitRefusal why) {
    answer.refusal = why;
    return answer;
  };
  if (answer.calls == 0) return refuse(FitRefusal::no_call);
  if (answer.calls == 1) return refuse(FitRefusal::one_call);
  if (sizes.size() < least_sizes_of_piece) return refuse(FitRefusal::too_few_sizes);
  const std::vector<SizedTime> points = typical_points(sizes);
  const double noise = roughness(points);
  const auto firsts = divide(points, noise, most_pieces);
  AlphaBetaFit fit{.pieces = {}, .sizes = sizes.size(), .calls = answer.calls};
  for (std::size_t p = 0; p + 1 < firsts.size(); ++p) {
    const std::size_t count = firsts[p + 1] - firsts[p];
    fit.pieces.push_back(fit_piece(std::span(sizes).subspan(firsts[p], count),
                                   std::span(points).subspan(firsts[p], count), noise));
  }
  // If no piece grows with size, there is no rate.
  if (std::ranges::all_of(fit.pieces, [](const AlphaBetaPiece& p) { return p.slope <= 0; }))
    return refuse(FitRefusal::no_growth);
  for (const SizedTime& p : points) {
    const double off = std::abs(*predicted_time(fit, p.size) / p.time - 1);
    fit.mean_error += off / static_cast<double>(points.size());
    fit.max_error = std::max(fit.max_error, off);
  }
  fit.r_squared = determination(fit, points);
  answer.fit = std::move(fit);
  return answer;
}

std::optional<double> predicted_time(const AlphaBetaFit& fit, double size) {
  const bool inside =
      size * most_extrapolation >= fit.smallest() && size <= fit.largest() * most_extrapolation;
  if (!inside) return std::nullopt;
  const AlphaBetaPiece* piece = &fit.pieces.front();
  for (const AlphaBetaPiece& next : fit.pieces)
    if (size > std::sqrt(piece->to) * std::sqrt(next.from)) piece = &next;
  return piece->start + piece->slope * size;
}

std::vector<SizedTime> typical_times(std::span<const SizedTime> calls) {
  return typical_points(by_size(calls));
}

}  // namespace stepscope
