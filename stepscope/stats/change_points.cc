// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/change_points.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "stepscope/stats/hampel.h"
#include "stepscope/stats/long_run.h"
#include "stepscope/stats/student_t.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr std::size_t most_values = 4096;
constexpr double far_away = 3;             // robust standard deviations
constexpr double far_jump = 20;            // of the noise of neighbours
constexpr std::size_t of_far_values = 16;  // one in this number may be far away from its level

struct Split {
  std::size_t at = 0;  // first value of the new level
  double p = 1;
};

// Student's t at one split. If both halves are constant and differ, the difference is significant.
double p_at(std::span<const double> v, std::size_t at) {
  const std::array<Series, 2> halves = {v.first(at), v.subspan(at)};
  const LongRun noise = long_run(halves);
  const double difference = std::fabs(*mean(halves[0]) - *mean(halves[1]));
  if (difference == 0) return 1;
  const double error =
      std::sqrt(noise.variance * noise.time *
                (1 / static_cast<double>(at) + 1 / static_cast<double>(v.size() - at)));
  return error > 0 ? student_t_tails(difference / error, noise.degrees) : 0;
}

std::size_t best_split(std::span<const double> v, std::size_t shortest) {
  const double origin = v.front();
  double all = 0;
  for (const double x : v) all += x - origin;
  const auto n = static_cast<double>(v.size());
  double sum = 0;
  double most = -1;
  std::size_t best = shortest;
  for (std::size_t k = 1; k + shortest <= v.size(); ++k) {
    sum += v[k - 1] - origin;
    if (k < shortest) continue;
    const auto left = static_cast<double>(k);
    const double difference = std::fabs(sum / left - (all - sum) / (n - left));
    const double weight = difference * std::sqrt(left * (n - left));
    if (weight <= most) continue;
    most = weight;
    best = k;
  }
  return best;
}

std::vector<double> held_down(std::span<const double> values) {
  return clipped(values, *hampel_limits(values));
}

// The usual noise of neighbours, whatever the levels: from the median of the distances between
// them, or where half of the values are equal to their neighbours, from a higher quantile.
double noise_of(std::span<const double> values) {
  std::vector<double> apart;
  for (std::size_t i = 1; i < values.size(); ++i)
    apart.push_back(std::fabs(values[i] - values[i - 1]));
  std::ranges::sort(apart);
  struct Quantile {
    double share;
    double normal;  // of the absolute value of a standard normal
  };
  constexpr std::array<Quantile, 3> quantiles = {{{0.5, 0.6745}, {0.75, 1.1503}, {0.9, 1.6449}}};
  for (const Quantile q : quantiles)
    if (const double at =
            apart[static_cast<std::size_t>(q.share * static_cast<double>(apart.size()))];
        at > 0)
      return at / q.normal / std::sqrt(2.0);
  return 0;
}

// The same by limits around the level of each side of a split. The limits of the whole are as wide
// as the change, so a far value that is moved onto them would still hide it. Many far values are
// not outliers but a heavy tail, whose spread counts. `noise`: the least deviation.
std::vector<double> held_down(std::span<const double> values, std::size_t at, double noise) {
  const std::array<double, 2> levels = {*median(values.first(at)), *median(values.subspan(at))};
  std::vector<double> out(values.size());
  std::vector<double> away(values.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = values[i] - levels[i < at ? 0 : 1];
    away[i] = std::fabs(out[i]);
  }
  const double limit = far_away * std::max(noise, 1.4826 * *median(away));
  const auto far = std::ranges::count_if(away, [&](double x) { return x > limit; });
  if (static_cast<std::size_t>(far) > std::max<std::size_t>(1, out.size() / of_far_values))
    return held_down(values);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = levels[i < at ? 0 : 1] + std::clamp(out[i], -limit, limit);
  return out;
}

// The split of an interval, with the values by which it is judged.
std::pair<std::size_t, std::vector<double>> split_of(std::span<const double> values,
                                                     std::size_t shortest, double noise) {
  std::vector<double> v = held_down(values);
  std::size_t at = best_split(v, shortest);
  v = held_down(values, at, noise);
  // Far values may have drawn the split to them.
  at = best_split(v, shortest);
  return {at, held_down(values, at, noise)};
}

class Segmentation {
 public:
  Segmentation(std::span<const double> values, const ChangeOptions& options)
      : values_(values), options_(options), noise_(noise_of(values)) {}

  [[nodiscard]] std::vector<ChangePoint> find() const {
    std::vector<std::pair<std::size_t, std::size_t>> open = {{0, values_.size()}};
    std::vector<std::size_t> cuts;
    while (!open.empty()) {
      const auto [from, to] = open.back();
      open.pop_back();
      const auto split = narrowest(from, to);
      if (!split) continue;
      cuts.push_back(split->at);
      open.emplace_back(from, split->at);
      open.emplace_back(split->at, to);
    }
    std::ranges::sort(cuts);
    return confirmed(std::move(cuts));
  }

 private:
  [[nodiscard]] double level(std::size_t from, std::size_t to) const {
    return *median(values_.subspan(from, to - from));
  }
  [[nodiscard]] bool is_change(std::size_t from, std::size_t at, std::size_t to, double p) const {
    const double before = level(from, at);
    return p < options_.p && std::fabs(level(at, to) - before) >= options_.least * before;
  }
  // A level that also drifts has few degrees of freedom, but its noise neither jumps so far nor
  // keeps what it jumped.
  [[nodiscard]] bool is_jump(std::size_t from, std::size_t at, std::size_t to) const {
    const std::size_t n = options_.shortest;
    if (at - from < n || to - at < n || noise_ == 0) return false;
    const double before = level(at - n, at);
    const double jump = level(at, at + n) - before;
    const double kept = (level(at, to) - level(from, at)) / jump;
    return std::fabs(jump) >= std::max(far_jump * noise_, options_.least * before) && kept >= 0.5;
  }

  [[nodiscard]] std::optional<Split> narrowest(std::size_t begin, std::size_t end) const {
    std::optional<Split> found;
    // Tries the shortest intervals first and the whole series last. Intervals of one length overlap
    // by half.
    for (std::size_t length = 4 * options_.shortest; !found; length *= 2) {
      const std::size_t size = std::min(length, end - begin);
      if (size < 2 * options_.shortest) break;
      for (std::size_t from = begin;; from += size / 2) {
        const std::size_t last = end - size;
        from = std::min(from, last);
        const auto [at, v] = split_of(values_.subspan(from, size), options_.shortest, noise_);
        const Split split{.at = from + at, .p = p_at(v, at)};
        const bool changes =
            is_change(from, split.at, from + size, split.p) || is_jump(begin, split.at, end);
        if (changes && (!found || split.p < found->p)) found = split;
        if (from == last) break;
      }
      if (size == end - begin) break;
    }
    return found;
  }

  [[nodiscard]] std::vector<ChangePoint> confirmed(std::vector<std::size_t> cuts) const {
    std::vector<ChangePoint> changes;
    for (bool all = false; !all;) {
      all = true;
      changes.clear();
      for (std::size_t i = 0; i < cuts.size() && all; ++i) {
        const std::size_t from = i == 0 ? 0 : cuts[i - 1];
        const std::size_t to = i + 1 == cuts.size() ? values_.size() : cuts[i + 1];
        const std::size_t at = cuts[i] - from;
        const double p = p_at(held_down(values_.subspan(from, to - from), at, noise_), at);
        if (is_change(from, cuts[i], to, p) || is_jump(from, cuts[i], to)) {
          changes.push_back({cuts[i], level(from, cuts[i]), level(cuts[i], to), p});
        } else {
          cuts.erase(cuts.begin() + static_cast<std::ptrdiff_t>(i));
          all = false;
        }
      }
    }
    return changes;
  }

  std::span<const double> values_;
  const ChangeOptions& options_;
  double noise_;
};

}  // namespace

std::vector<ChangePoint> find_changes(std::span<const double> values,
                                      const ChangeOptions& options) {
  if (values.size() < 2 * options.shortest) return {};
  const std::size_t group = (values.size() + most_values - 1) / most_values;
  if (group == 1) return Segmentation(values, options).find();
  std::vector<double> medians;
  for (std::size_t at = 0; at + group <= values.size(); at += group)
    medians.push_back(*median(values.subspan(at, group)));
  std::vector<ChangePoint> changes = Segmentation(medians, options).find();
  for (ChangePoint& change : changes) change.at *= group;
  return changes;
}

}  // namespace stepscope
