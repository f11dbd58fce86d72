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
#include <numeric>
#include <string>
#include <unordered_map>

#include "stepscope/stats/fast_median.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr int most_rounds_each = 12;  // of absolute deviations, then of the biweight
// Rounds end when no offset moves by more.
constexpr double absolute_moves_ns = 1;
constexpr double biweight_moves_ns = 0.01;
constexpr double biweight_reach = 4.685;
// The accepted squared residual of the linear system, relative to its start. The weights of the
// next round correct what a round leaves; the last round is exact.
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
  std::size_t first = 0;  // its collectives are [first, last)
  std::size_t last = 0;
  std::array<std::vector<double>, 3> moments;

  [[nodiscard]] bool formed() const { return !moments[0].empty(); }
};

// sums += a square matrix times x. Four rows at once: the additions of a sum wait for each other.
void add_product(const double* matrix, std::span<const double> x, double* sums) {
  const std::size_t size = x.size();
  std::size_t i = 0;
  for (; i + 4 <= size; i += 4) {
    const double* const m = matrix + i * size;
    double a = sums[i];
    double b = sums[i + 1];
    double c = sums[i + 2];
    double d = sums[i + 3];
    for (std::size_t j = 0; j < size; ++j) {
      a += m[j] * x[j];
      b += m[size + j] * x[j];
      c += m[2 * size + j] * x[j];
      d += m[3 * size + j] * x[j];
    }
    sums[i] = a;
    sums[i + 1] = b;
    sums[i + 2] = c;
    sums[i + 3] = d;
  }
  for (; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j) sums[i] += matrix[i * size + j] * x[j];
}

// One row per end: value = time of this end after the first end of its collective.
class Solver {
  const SharedEnds& data_;
  std::size_t first_;
  std::size_t last_;
  std::size_t columns_;
  Ns at_{};
  double unit_ns_ = 1;  // unit of time: half the window, so both columns have one scale
  // Collectives are numbered block by block, and their rows lie in this order.
  std::vector<std::uint32_t> by_time_;
  std::vector<std::size_t> place_;  // by collective: in data_.shared
  std::vector<std::size_t> row_;    // by collective: of its first end
  std::vector<double> time_;        // by collective, -1 to 1
  std::vector<double> scale_;       // by collective
  std::vector<Block> blocks_;
  std::vector<double> value_;      // by row
  std::vector<double> weight_;     // by row
  std::vector<double> weights_;    // by collective: their sum
  std::vector<double> residuals_;  // by row, in scales
  std::vector<double> x_;
  double sigma_ = 0;
  std::vector<double> offsets_;  // of the clocks of one block
  std::vector<double> drifts_;
  std::vector<double> sums_;

 public:
  Solver(const SharedEnds& data, std::size_t first, std::size_t last, bool with_drift)
      : data_(data), first_(first), last_(last), columns_(with_drift ? 2 : 1) {
    prepare();
  }

  ClockFit run(const ClockFit* near) {
    ClockFit fit;
    fit.part = parts_of(data_, first_, last_);
    fit.offset_ns.resize(data_.clocks);
    fit.drift.resize(data_.clocks);
    fit.error_ns.resize(data_.clocks);
    fit.at = at_;
    if (first_ == last_) return fit;
    for (std::uint32_t c = 0; near != nullptr && c < data_.clocks; ++c) {
      x_[c * columns_] = near->offset_at(c, at_);
      if (columns_ == 2) x_[c * 2 + 1] = near->drift[c] * unit_ns_;
    }
    find_residuals();
    repeat([&] { reweigh_absolute(); }, absolute_moves_ns);
    repeat([&] { reweigh_biweight(); }, biweight_moves_ns);
    reweigh_biweight();
    solve(last_tolerance);
    find_residuals();
    fix_gauge(fit.part);
    fit.error_ns = errors();
    std::vector<std::int64_t> scales;
    for (std::size_t s = first_; s < last_; ++s) scales.push_back(data_.shared[s].scale.count());
    fit.noise_ns = std::max(1000.0, 4 * sigma_ * *median(scales));
    for (std::uint32_t c = 0; c < data_.clocks; ++c) {
      fit.offset_ns[c] = x_[c * columns_];
      if (columns_ == 2) fit.drift[c] = x_[c * 2 + 1] / unit_ns_;
      if (fit.part[c] == c) fit.error_ns[c] = 0;
    }
    return fit;
  }

 private:
  [[nodiscard]] std::size_t unknowns() const { return data_.clocks * columns_; }

  // Calls each(collective, its first row, its ends): by time, or as they lie in memory.
  template <class Each>
  void each_shared(Each each) const {
    for (const std::uint32_t s : by_time_) each(s, row_[s], ends_of(s));
  }

  template <class Each>
  void each_in_blocks(Each each) const {
    for (const Block& block : blocks_)
      for (std::size_t s = block.first; s < block.last; ++s) each(s, row_[s], ends_of(block));
  }

  [[nodiscard]] std::span<const ClockEnd> ends_of(std::size_t s) const {
    return data_.of(data_.shared[place_[s]]);
  }

  // Their instants are those of the first collective.
  [[nodiscard]] std::span<const ClockEnd> ends_of(const Block& block) const {
    return ends_of(block.first);
  }

  [[nodiscard]] double modelled(std::span<const double> x, std::uint32_t clock, double t) const {
    return x[clock * columns_] + (columns_ == 2 ? x[clock * 2 + 1] * t : 0);
  }

  void prepare() {
    x_.assign(unknowns(), 0);
    if (first_ == last_) return;
    find_blocks();
    std::vector<Ns> instant;
    for (std::size_t s = 0; s < place_.size(); ++s) {
      const auto ends = ends_of(s);
      instant.push_back(std::ranges::min(ends, {}, &ClockEnd::end).end);
      for (const ClockEnd& e : ends)
        value_.push_back(static_cast<double>((e.end - instant.back()).count()));
      scale_.push_back(static_cast<double>(data_.shared[place_[s]].scale.count()));
    }
    const auto [low, high] = std::ranges::minmax(instant);
    at_ = low + (high - low) / 2;
    unit_ns_ = std::max(1.0, static_cast<double>((high - low).count()) / 2);
    for (const Ns t : instant) time_.push_back(static_cast<double>((t - at_).count()) / unit_ns_);
    weight_.resize(value_.size());
    residuals_.resize(value_.size());
  }

  void find_blocks() {
    std::unordered_map<std::u32string, std::size_t> numbers;
    std::vector<std::size_t> block_of;  // by time
    std::u32string clocks;
    for (std::size_t at = first_; at < last_; ++at) {
      clocks.clear();
      for (const ClockEnd& e : data_.of(data_.shared[at])) clocks.push_back(e.clock);
      block_of.push_back(numbers.try_emplace(clocks, blocks_.size()).first->second);
      if (block_of.back() == blocks_.size()) blocks_.emplace_back();
      ++blocks_[block_of.back()].last;
    }
    std::size_t begin = 0;
    for (Block& block : blocks_) {
      block.first = begin;
      begin += block.last;
      block.last = block.first;
    }
    place_.resize(last_ - first_);
    for (std::size_t i = 0; i < block_of.size(); ++i) {
      by_time_.push_back(static_cast<std::uint32_t>(blocks_[block_of[i]].last++));
      place_[by_time_.back()] = first_ + i;
    }
    std::size_t rows = 0;
    for (const std::size_t at : place_) {
      row_.push_back(rows);
      rows += data_.shared[at].count;
    }
  }

  void form(Block& block) const {
    const std::size_t size = ends_of(block).size();
    if (size > small_set || block.last - block.first <= size) return;
    for (std::size_t k = 0; k < 2 * columns_ - 1; ++k) block.moments[k].assign(size * size, 0);
    for (std::size_t s = block.first; s < block.last; ++s) {
      const std::span<const double> w = std::span(weight_).subspan(row_[s], size);
      const double weights = weights_[s];
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

  void apply_formed(const Block& block, std::span<const double> x, std::vector<double>& out) {
    const auto ends = ends_of(block);
    const std::size_t size = ends.size();
    for (std::size_t row = 0; row < columns_; ++row) {
      sums_.assign(size, 0);
      for (std::size_t column = 0; column < columns_; ++column) {
        offsets_.clear();
        for (const ClockEnd& e : ends) offsets_.push_back(x[e.clock * columns_ + column]);
        add_product(block.moments[row + column].data(), offsets_, sums_.data());
      }
      for (std::size_t i = 0; i < size; ++i) out[ends[i].clock * columns_ + row] += sums_[i];
    }
  }

  // Adds the normal matrix of one collective times the values.
  void add_values(const Block& block, std::size_t s, std::vector<double>& out) const {
    const auto ends = ends_of(block);
    const double* const weight = &weight_[row_[s]];
    const double* const value = &value_[row_[s]];
    double sum = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) sum += weight[i] * value[i];
    if (weights_[s] <= 0) return;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const double part = weight[i] * (value[i] - sum / weights_[s]);
      out[ends[i].clock * columns_] += part;
      if (columns_ == 2) out[ends[i].clock * 2 + 1] += part * time_[s];
    }
  }

  // Several collectives at once: the additions of a sum wait for each other.
  void apply_each(const Block& block, std::span<const double> x, std::vector<double>& out) {
    constexpr std::size_t at_once = 4;
    const auto ends = ends_of(block);
    const std::size_t size = ends.size();
    offsets_.resize(size);
    drifts_.assign(size, 0);
    for (std::size_t i = 0; i < size; ++i) {
      offsets_[i] = x[ends[i].clock * columns_];
      if (columns_ == 2) drifts_[i] = x[ends[i].clock * 2 + 1];
    }
    for (std::size_t first = block.first; first < block.last; first += at_once) {
      const std::size_t count = std::min(at_once, block.last - first);
      // Beyond the last one, the first again; its sum is not used.
      std::array<const double*, at_once> weight{};
      std::array<double, at_once> time{};
      for (std::size_t k = 0; k < at_once; ++k) {
        const std::size_t s = first + (k < count ? k : 0);
        weight[k] = &weight_[row_[s]];
        time[k] = time_[s];
      }
      std::array<double, at_once> sum{};
      for (std::size_t i = 0; i < size; ++i)
        for (std::size_t k = 0; k < at_once; ++k)
          sum[k] += weight[k][i] * (offsets_[i] + drifts_[i] * time[k]);
      for (std::size_t k = 0; k < count; ++k) {
        if (weights_[first + k] <= 0) continue;
        const double mean = sum[k] / weights_[first + k];
        for (std::size_t i = 0; i < size; ++i) {
          const double part = weight[k][i] * (offsets_[i] + drifts_[i] * time[k] - mean);
          out[ends[i].clock * columns_] += part;
          if (columns_ == 2) out[ends[i].clock * 2 + 1] += part * time[k];
        }
      }
    }
  }

  // out = the normal matrix times x.
  void apply(std::span<const double> x, std::vector<double>& out) {
    std::ranges::fill(out, 0);
    for (const Block& block : blocks_) {
      if (block.formed())
        apply_formed(block, x, out);
      else
        apply_each(block, x, out);
    }
  }

  std::vector<double> inverse_diagonal() const {
    std::vector<double> inverse(unknowns());
    each_shared([&](std::size_t s, std::size_t row, std::span<const ClockEnd> ends) {
      const double t = time_[s];
      const double weights = weights_[s];
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

  void sum_weights() {
    weights_.resize(row_.size());
    each_in_blocks([&](std::size_t s, std::size_t row, std::span<const ClockEnd> ends) {
      const auto first = weight_.begin() + static_cast<std::ptrdiff_t>(row);
      weights_[s] = std::accumulate(first, first + std::ssize(ends), 0.0);
    });
  }

  // Conjugate gradients from the current solution. The matrix is singular along the gauge; the
  // right-hand side has no component along it.
  void solve(double tolerance) {
    const std::size_t n = unknowns();
    std::vector<double> r(n);
    std::vector<double> a(n);
    sum_weights();
    for (Block& block : blocks_) form(block);
    for (const Block& block : blocks_)
      for (std::size_t s = block.first; s < block.last; ++s) add_values(block, s, r);
    const std::vector<double> inverse = inverse_diagonal();
    const auto squared = [&] {
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) sum += r[i] * inverse[i] * r[i];
      return sum;
    };
    const double wanted = tolerance * squared();
    apply(x_, a);
    for (std::size_t i = 0; i < n; ++i) r[i] -= a[i];
    std::vector<double> p(n);
    for (std::size_t i = 0; i < n; ++i) p[i] = inverse[i] * r[i];
    double rr = squared();
    for (std::size_t k = 0; k < 4 * n && rr > wanted && rr > 0; ++k) {
      apply(p, a);
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
  void find_residuals() {
    std::vector<double> left;
    std::vector<double> sizes;
    each_in_blocks([&](std::size_t s, std::size_t row, std::span<const ClockEnd> ends) {
      left.clear();
      for (std::size_t i = 0; i < ends.size(); ++i)
        left.push_back(value_[row + i] - modelled(x_, ends[i].clock, time_[s]));
      sizes = left;
      const double middle = fast_median(sizes);
      const double scale = scale_[s];
      for (std::size_t i = 0; i < ends.size(); ++i)
        residuals_[row + i] = (left[i] - middle) / scale;
    });
    sizes.clear();
    for (const double r : residuals_) sizes.push_back(std::abs(r));
    sigma_ = std::max(1e-3, normal_mad * fast_median(sizes));
  }

  void reweigh_absolute() {
    each_in_blocks([&](std::size_t s, std::size_t row, std::span<const ClockEnd> ends) {
      const double scale = scale_[s];
      for (std::size_t i = row; i < row + ends.size(); ++i)
        weight_[i] = 1 / (scale * scale * std::max(std::abs(residuals_[i]), 0.1 * sigma_));
    });
  }

  void reweigh_biweight() {
    each_in_blocks([&](std::size_t s, std::size_t row, std::span<const ClockEnd> ends) {
      const double scale = scale_[s];
      for (std::size_t i = row; i < row + ends.size(); ++i) {
        const double u = residuals_[i] / (biweight_reach * sigma_);
        const double inside = std::max(1e-6, 1 - u * u);
        weight_[i] = inside * inside / (scale * scale);
      }
    });
  }

  // Until the unknowns stand still.
  template <class Reweigh>
  void repeat(Reweigh&& reweigh, double moves_ns) {
    for (int round = 0; round < most_rounds_each; ++round) {
      const std::vector<double> before = x_;
      reweigh();
      solve(round_tolerance);
      find_residuals();
      double moved = 0;
      for (std::size_t i = 0; i < x_.size(); ++i)
        moved = std::max(moved, std::abs(x_[i] - before[i]));
      if (moved <= moves_ns) return;
    }
  }

  void fix_gauge(const std::vector<std::uint32_t>& part) {
    const std::vector<double> x = x_;
    for (std::uint32_t c = 0; c < data_.clocks; ++c)
      for (std::size_t k = 0; k < columns_; ++k) x_[c * columns_ + k] -= x[part[c] * columns_ + k];
  }

  // Standard errors of the weighted mean of each clock's residuals.
  std::vector<double> errors() const {
    std::vector<double> weights(data_.clocks);
    each_shared([&](std::size_t, std::size_t row, std::span<const ClockEnd> ends) {
      for (std::size_t i = 0; i < ends.size(); ++i) weights[ends[i].clock] += weight_[row + i];
    });
    for (double& w : weights) w = w > 0 ? sigma_ / std::sqrt(w) : 0;
    return weights;
  }
};

}  // namespace

ClockFit fit_clocks(const SharedEnds& data, std::size_t first, std::size_t last, bool with_drift,
                    const ClockFit* near) {
  return Solver(data, first, last, with_drift).run(near);
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
