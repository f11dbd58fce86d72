// SPDX-License-Identifier: Apache-2.0
// Iteratively reweighted least squares. Eliminating the unknown true ends leaves a weighted
// Laplacian over the clocks, the sum of one dense block for each set of clocks that share
// collectives. Conjugate gradients, preconditioned by its diagonal, solve it. A block of a
// small set that shares more collectives than it has clocks is formed. Other blocks are applied
// collective by collective.
#include "stepscope/analysis/matching/clock_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr int most_rounds_each = 12;  // of absolute deviations, then of the biweight
// Rounds end when no offset moves by more.
constexpr double absolute_moves_ns = 1;
constexpr double biweight_moves_ns = 0.01;
constexpr double biweight_reach = 4.685;
// Of the squared residual of the linear system. Weights of the next round correct what a round
// leaves; the last round is exact.
constexpr double round_tolerance = 1e-12;
constexpr double last_tolerance = 1e-24;
constexpr std::size_t small_set = 64;  // forming a block costs its size per end and round
constexpr double normal_mad = 1.4826;  // standard deviation of a normal / its median deviation

std::vector<std::uint32_t> parts_of(const SharedEnds& data, std::size_t first, std::size_t last) {
  std::vector<std::uint32_t> part(data.clocks);
  std::iota(part.begin(), part.end(), 0U);
  const auto root = [&](std::uint32_t c) {
    while (part[c] != c) c = part[c] = part[part[c]];
    return c;
  };
  for (std::size_t s = first; s < last; ++s) {
    const auto ends = data.of(data.shared[s]);
    for (const ClockEnd& e : ends.subspan(1)) {
      const auto [low, high] = std::minmax({root(ends.front().clock), root(e.clock)});
      part[high] = low;
    }
  }
  for (std::uint32_t c = 0; c < data.clocks; ++c) part[c] = root(c);
  return part;
}

// The collectives of one set of clocks, and their sum of the weighted Laplacian L times 1, t and t²
// for their times t, if formed.
struct Block {
  std::vector<std::size_t> collectives;  // after the first
  std::array<std::vector<double>, 3> moments;

  [[nodiscard]] bool formed() const { return !moments[0].empty(); }
};

// The median. Reorders the values.
double middle_of(std::vector<double>& values) {
  const double upper = upper_median(values);
  if (values.size() % 2 != 0) return upper;
  const auto middle = values.begin() + std::ssize(values) / 2;
  return (*std::max_element(values.begin(), middle) + upper) / 2;
}

// One row per end: value = time of this end after the first end of its collective.
class Solver {
 public:
  Solver(const SharedEnds& data, std::size_t first, std::size_t last, bool with_drift)
      : data_(data), first_(first), last_(last), columns_(with_drift ? 2 : 1) {
    prepare();
  }
  ClockFit run();

 private:
  [[nodiscard]] std::size_t unknowns() const { return data_.clocks * columns_; }
  void prepare();
  template <class Each>
  void each_shared(Each each) const {
    std::size_t row = 0;
    for (std::size_t s = first_; s < last_; ++s) {
      each(s - first_, row, data_.of(data_.shared[s]));
      row += data_.shared[s].count;
    }
  }
  [[nodiscard]] std::span<const ClockEnd> ends_of(std::size_t s) const {
    return data_.of(data_.shared[first_ + s]);
  }
  [[nodiscard]] double modelled(std::span<const double> x, std::uint32_t clock, double t) const {
    return x[clock * columns_] + (columns_ == 2 ? x[clock * 2 + 1] * t : 0);
  }
  void find_blocks();
  void form(Block& block) const;
  void apply(const Block& block, std::span<const double> x, std::vector<double>& out) const;
  // Adds the normal matrix of one collective times x, or times the values if x is empty.
  void add_normal(std::size_t s, std::span<const double> x, std::vector<double>& out) const;
  // out = the normal matrix times x, or times the values if x is empty.
  void normal(std::span<const double> x, std::vector<double>& out) const;
  void solve(double tolerance);
  [[nodiscard]] std::vector<double> inverse_diagonal() const;
  void find_residuals();
  // Until the unknowns stand still.
  void repeat(void (Solver::*reweigh)(), double moves_ns);
  void reweigh_absolute();
  void reweigh_biweight();
  void fix_gauge(const std::vector<std::uint32_t>& part);
  [[nodiscard]] std::vector<double> errors() const;

  const SharedEnds& data_;
  std::size_t first_;
  std::size_t last_;
  std::size_t columns_;
  Ns at_{};
  double unit_ns_ = 1;            // unit of time: half the window, so both columns have one scale
  std::vector<double> time_;      // by collective, -1 to 1
  std::vector<std::size_t> row_;  // by collective: of its first end
  std::vector<Block> blocks_;
  std::vector<double> value_;      // by row
  std::vector<double> weight_;     // by row
  std::vector<double> residuals_;  // by row, in scales
  std::vector<double> x_;
  double sigma_ = 0;
};

void Solver::prepare() {
  x_.assign(unknowns(), 0);
  if (first_ == last_) return;
  std::vector<Ns> instant;
  each_shared([&](std::size_t, std::size_t, std::span<const ClockEnd> ends) {
    instant.push_back(std::ranges::min(ends, {}, &ClockEnd::end).end);
    for (const ClockEnd& e : ends)
      value_.push_back(static_cast<double>((e.end - instant.back()).count()));
  });
  const auto [low, high] = std::ranges::minmax(instant);
  at_ = low + (high - low) / 2;
  unit_ns_ = std::max(1.0, static_cast<double>((high - low).count()) / 2);
  for (const Ns t : instant) time_.push_back(static_cast<double>((t - at_).count()) / unit_ns_);
  weight_.resize(value_.size());
  residuals_.resize(value_.size());
  find_blocks();
}

void Solver::find_blocks() {
  std::map<std::vector<std::uint32_t>, std::size_t> numbers;
  std::vector<std::uint32_t> clocks;
  each_shared([&](std::size_t s, std::size_t row, std::span<const ClockEnd> ends) {
    row_.push_back(row);
    clocks.clear();
    for (const ClockEnd& e : ends) clocks.push_back(e.clock);
    const std::size_t block = numbers.try_emplace(clocks, blocks_.size()).first->second;
    if (block == blocks_.size()) blocks_.emplace_back();
    blocks_[block].collectives.push_back(s);
  });
}

void Solver::form(Block& block) const {
  const std::size_t size = ends_of(block.collectives.front()).size();
  if (size > small_set || block.collectives.size() <= size) return;
  for (std::size_t k = 0; k < 2 * columns_ - 1; ++k) block.moments[k].assign(size * size, 0);
  for (const std::size_t s : block.collectives) {
    const std::span<const double> w = std::span(weight_).subspan(row_[s], size);
    const double weights = std::accumulate(w.begin(), w.end(), 0.0);
    if (weights <= 0) continue;
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        double part = -w[i] * w[j] / weights;
        if (i == j) part += w[i];
        for (std::size_t k = 0; k < 2 * columns_ - 1; ++k, part *= time_[s])
          block.moments[k][i * size + j] += part;
      }
    }
  }
  for (std::vector<double>& m : block.moments)
    for (std::size_t i = 0; i < size && !m.empty(); ++i)
      for (std::size_t j = 0; j < i; ++j) m[j * size + i] = m[i * size + j];
}

void Solver::apply(const Block& block, std::span<const double> x, std::vector<double>& out) const {
  const auto ends = ends_of(block.collectives.front());
  const std::size_t size = ends.size();
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t row = 0; row < columns_; ++row) {
      double sum = 0;
      for (std::size_t column = 0; column < columns_; ++column) {
        const double* const m = &block.moments[row + column][i * size];
        for (std::size_t j = 0; j < size; ++j) sum += m[j] * x[ends[j].clock * columns_ + column];
      }
      out[ends[i].clock * columns_ + row] += sum;
    }
  }
}

void Solver::add_normal(std::size_t s, std::span<const double> x, std::vector<double>& out) const {
  const auto ends = ends_of(s);
  const std::size_t row = row_[s];
  const double t = time_[s];
  const auto z = [&](std::size_t i) {
    return x.empty() ? value_[row + i] : modelled(x, ends[i].clock, t);
  };
  double sum = 0;
  double weights = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    sum += weight_[row + i] * z(i);
    weights += weight_[row + i];
  }
  if (weights <= 0) return;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const double part = weight_[row + i] * (z(i) - sum / weights);
    out[ends[i].clock * columns_] += part;
    if (columns_ == 2) out[ends[i].clock * 2 + 1] += part * t;
  }
}

void Solver::normal(std::span<const double> x, std::vector<double>& out) const {
  std::ranges::fill(out, 0);
  for (const Block& block : blocks_) {
    if (block.formed() && !x.empty())
      apply(block, x, out);
    else
      for (const std::size_t s : block.collectives) add_normal(s, x, out);
  }
}

std::vector<double> Solver::inverse_diagonal() const {
  std::vector<double> inverse(unknowns());
  each_shared([&](std::size_t s, std::size_t row, std::span<const ClockEnd> ends) {
    const double t = time_[s];
    double weights = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) weights += weight_[row + i];
    if (weights <= 0) return;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const double part = weight_[row + i] * (1 - weight_[row + i] / weights);
      inverse[ends[i].clock * columns_] += part;
      if (columns_ == 2) inverse[ends[i].clock * 2 + 1] += part * t * t;
    }
  });
  for (double& d : inverse) d = d > 0 ? 1 / d : 0;
  return inverse;
}

// Conjugate gradients from the current solution. The matrix is singular along the gauge; the
// right-hand side has no component along it.
void Solver::solve(double tolerance) {
  const std::size_t n = unknowns();
  std::vector<double> r(n);
  std::vector<double> a(n);
  for (Block& block : blocks_) form(block);
  normal({}, r);
  const std::vector<double> inverse = inverse_diagonal();
  const auto squared = [&] {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += r[i] * inverse[i] * r[i];
    return sum;
  };
  const double wanted = tolerance * squared();
  normal(x_, a);
  for (std::size_t i = 0; i < n; ++i) r[i] -= a[i];
  std::vector<double> p(n);
  for (std::size_t i = 0; i < n; ++i) p[i] = inverse[i] * r[i];
  double rr = squared();
  for (std::size_t k = 0; k < 4 * n && rr > wanted && rr > 0; ++k) {
    normal(p, a);
    const double pa = std::inner_product(p.begin(), p.end(), a.begin(), 0.0);
    if (pa <= 0) break;
    const double step = rr / pa;
    for (std::size_t i = 0; i < n; ++i) {
      x_[i] += step * p[i];
      r[i] -= step * a[i];
    }
    const double next = squared();
    for (std::size_t i = 0; i < n; ++i) p[i] = inverse[i] * r[i] + next / rr * p[i];
    rr = next;
  }
}

// Relative to the median of the collective's ends, which one outlier does not move; for two ends,
// the midpoint.
void Solver::find_residuals() {
  std::vector<double> left;
  std::vector<double> sizes;
  each_shared([&](std::size_t s, std::size_t row, std::span<const ClockEnd> ends) {
    left.clear();
    for (std::size_t i = 0; i < ends.size(); ++i)
      left.push_back(value_[row + i] - modelled(x_, ends[i].clock, time_[s]));
    sizes = left;
    const double middle = middle_of(sizes);
    const double scale = static_cast<double>(data_.shared[first_ + s].scale.count());
    for (std::size_t i = 0; i < ends.size(); ++i) residuals_[row + i] = (left[i] - middle) / scale;
  });
  sizes.clear();
  for (const double r : residuals_) sizes.push_back(std::abs(r));
  sigma_ = std::max(1e-3, normal_mad * middle_of(sizes));
}

void Solver::reweigh_absolute() {
  each_shared([&](std::size_t s, std::size_t row, std::span<const ClockEnd> ends) {
    const double scale = static_cast<double>(data_.shared[first_ + s].scale.count());
    for (std::size_t i = row; i < row + ends.size(); ++i)
      weight_[i] = 1 / (scale * scale * std::max(std::abs(residuals_[i]), 0.1 * sigma_));
  });
}

void Solver::reweigh_biweight() {
  each_shared([&](std::size_t s, std::size_t row, std::span<const ClockEnd> ends) {
    const double scale = static_cast<double>(data_.shared[first_ + s].scale.count());
    for (std::size_t i = row; i < row + ends.size(); ++i) {
      const double u = residuals_[i] / (biweight_reach * sigma_);
      const double inside = std::max(1e-6, 1 - u * u);
      weight_[i] = inside * inside / (scale * scale);
    }
  });
}

void Solver::repeat(void (Solver::*reweigh)(), double moves_ns) {
  for (int round = 0; round < most_rounds_each; ++round) {
    const std::vector<double> before = x_;
    (this->*reweigh)();
    solve(round_tolerance);
    find_residuals();
    double moved = 0;
    for (std::size_t i = 0; i < x_.size(); ++i)
      moved = std::max(moved, std::abs(x_[i] - before[i]));
    if (moved <= moves_ns) return;
  }
}

void Solver::fix_gauge(const std::vector<std::uint32_t>& part) {
  const std::vector<double> x = x_;
  for (std::uint32_t c = 0; c < data_.clocks; ++c)
    for (std::size_t k = 0; k < columns_; ++k) x_[c * columns_ + k] -= x[part[c] * columns_ + k];
}

// Standard errors of the weighted mean of each clock's residuals.
std::vector<double> Solver::errors() const {
  std::vector<double> weights(data_.clocks);
  each_shared([&](std::size_t, std::size_t row, std::span<const ClockEnd> ends) {
    for (std::size_t i = 0; i < ends.size(); ++i) weights[ends[i].clock] += weight_[row + i];
  });
  for (double& w : weights) w = w > 0 ? sigma_ / std::sqrt(w) : 0;
  return weights;
}

ClockFit Solver::run() {
  ClockFit fit;
  fit.part = parts_of(data_, first_, last_);
  fit.joins.resize(data_.clocks);
  fit.offset_ns.resize(data_.clocks);
  fit.drift.resize(data_.clocks);
  fit.error_ns.resize(data_.clocks);
  fit.at = at_;
  if (first_ == last_) return fit;
  each_shared([&](std::size_t, std::size_t, std::span<const ClockEnd> ends) {
    for (const ClockEnd& e : ends) ++fit.joins[e.clock];
  });
  find_residuals();
  repeat(&Solver::reweigh_absolute, absolute_moves_ns);
  repeat(&Solver::reweigh_biweight, biweight_moves_ns);
  reweigh_biweight();
  solve(last_tolerance);
  find_residuals();
  fix_gauge(fit.part);
  fit.error_ns = errors();
  std::vector<std::int64_t> scales;
  for (std::size_t s = first_; s < last_; ++s) scales.push_back(data_.shared[s].scale.count());
  fit.noise_ns = std::max(1000.0, 4 * sigma_ * *median(std::span<const std::int64_t>(scales)));
  for (std::uint32_t c = 0; c < data_.clocks; ++c) {
    fit.offset_ns[c] = x_[c * columns_];
    if (columns_ == 2) fit.drift[c] = x_[c * 2 + 1] / unit_ns_;
    if (fit.part[c] == c) fit.error_ns[c] = 0;
  }
  return fit;
}

}  // namespace

ClockFit fit_clocks(const SharedEnds& data, std::size_t first, std::size_t last, bool with_drift) {
  return Solver(data, first, last, with_drift).run();
}

std::vector<double> end_spreads(const SharedEnds& data, std::size_t first, std::size_t last,
                                const ClockFit* fit) {
  std::vector<double> spreads;
  for (std::size_t s = first; s < last; ++s) {
    const auto ends = data.of(data.shared[s]);
    const Ns base = ends.front().end;
    double low = 0;
    double high = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      double at = static_cast<double>((ends[i].end - base).count());
      if (fit != nullptr) at -= fit->offset_at(ends[i].clock, ends[i].end);
      low = i == 0 ? at : std::min(low, at);
      high = i == 0 ? at : std::max(high, at);
    }
    spreads.push_back(high - low);
  }
  return spreads;
}

bool satisfy_bounds(std::span<const ClockBound> bounds, ClockFit& fit) {
  const std::size_t clocks = fit.offset_ns.size();
  std::vector<std::int64_t> potential(clocks, 0);
  const auto relax = [&] {
    bool moved = false;
    for (const ClockBound& b : bounds) {
      const std::int64_t most = potential[b.behind] + b.most.count();
      if (potential[b.ahead] <= most) continue;
      potential[b.ahead] = most;
      moved = true;
    }
    return moved;
  };
  bool moving = true;
  for (std::size_t k = 0; k <= clocks && moving; ++k) moving = relax();
  if (moving) return false;
  constexpr int most_rounds = 1000;
  for (int round = 0; round < most_rounds; ++round) {
    double worst = 0;
    for (const ClockBound& b : bounds) {
      const double over =
          fit.offset_ns[b.ahead] - fit.offset_ns[b.behind] - static_cast<double>(b.most.count());
      if (over <= 0) continue;
      worst = std::max(worst, over);
      fit.offset_ns[b.ahead] -= over / 2;
      fit.offset_ns[b.behind] += over / 2;
    }
    if (worst < 0.5) break;
  }
  const std::vector<double> moved = fit.offset_ns;
  for (std::size_t c = 0; c < clocks; ++c) fit.offset_ns[c] -= moved[fit.part[c]];
  return true;
}

}  // namespace stepscope
