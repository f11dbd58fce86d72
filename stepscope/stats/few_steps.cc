// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/few_steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr double one_of_forty = 1.96;  // of the normal distribution, on one side
constexpr double nearest_to_one = 0.993;

// The largest coefficient that n values an arm are tested for: 0.91 of up to 30 values, which is a
// correlation time of 21. More values could show longer ones, so these are then tested for. The
// time rises no faster, because a change would else be found less often by more values.
double assumed_at_most(std::size_t n) {
  constexpr double few = 30;
  constexpr double time = (1 + 0.91) / (1 - 0.91);
  const double longest = time * std::pow(std::max(static_cast<double>(n) / few, 1.0), 1.3);
  return std::min((longest - 1) / (longest + 1), nearest_to_one);
}

// What n values of an AR(1) of variance 1 show, with coefficient r and R[i][j] = r^|i - j|.
struct Expected {
  double mean_variance = 0;  // of the mean
  double squares = 0;        // about the mean, summed
  double products = 0;       // of neighbours about the mean, summed
  double traced = 0;         // trace of (M R)^2, where M takes the mean away
};

Expected expected(std::size_t count, double r) {
  const auto n = static_cast<double>(count);
  std::vector<double> sum(count);  // of r^k, k from 0 to i
  double power = 1;
  for (std::size_t i = 0; i < count; ++i, power *= r) sum[i] = power + (i > 0 ? sum[i - 1] : 0);
  double all = 0;          // elements of R
  double all_squared = 0;  // elements of R^2
  double traced = n;       // trace of R^2
  power = 1;
  for (std::size_t i = 0; i < count; ++i) {
    const double row = sum[i] + sum[count - 1 - i] - 1;
    all += row;
    all_squared += row * row;
    if (i > 0) traced += 2 * (n - static_cast<double>(i)) * power * power;
    power *= r;
  }
  Expected e{.mean_variance = all / (n * n)};
  e.squares = n * (1 - e.mean_variance);
  e.products = (n - 1) * r + 2 * sum.back() / n - (n + 1) * e.mean_variance;
  e.traced = traced - 2 * all_squared / n + all * all / (n * n);
  return e;
}

// Squares about the mean of each launch, and products of neighbours.
struct Shown {
  double squares = 0;
  double products = 0;
};

Shown shown(Series values) {
  Shown s;
  const double middle = *mean(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double off = values[i] - middle;
    s.squares += off * off;
    if (i > 0) s.products += off * (values[i - 1] - middle);
  }
  return s;
}

std::size_t count_of(std::span<const Series> arm) {
  std::size_t count = 0;
  for (const Series s : arm) count += s.size();
  return count;
}

}  // namespace

double lag1_bound(std::span<const Series> a, std::span<const Series> b) {
  const double most = assumed_at_most(std::min(count_of(a), count_of(b)));
  double squares = 0;
  double products = 0;
  double n = 0;
  double launches = 0;
  for (const auto& arm : {a, b})
    for (const Series s : arm) {
      if (s.size() < 2) continue;
      const Shown of = shown(s);
      squares += of.squares;
      products += of.products;
      n += static_cast<double>(s.size());
      launches += 1;
    }
  if (!(squares > 0)) return most;
  const double each = n / launches;
  const double deviation = std::sqrt(std::max(each - 2, 0.0) / each / n);
  const double reached = products / squares + one_of_forty * deviation;
  const auto shows = [&](double r) {
    Expected sum;
    for (const auto& arm : {a, b})
      for (const Series s : arm) {
        if (s.size() < 2) continue;
        const Expected e = expected(s.size(), r);
        sum.squares += e.squares;
        sum.products += e.products;
      }
    return sum.products / sum.squares;
  };
  double low = 0;
  double high = most;
  if (shows(high) <= reached) return high;
  for (int i = 0; i < 20; ++i) {
    const double middle = (low + high) / 2;
    (shows(middle) <= reached ? low : high) = middle;
  }
  return high;
}

MeanEstimate mean_estimate(std::span<const Series> arm, double lag1) {
  MeanEstimate estimate;
  const auto n = static_cast<double>(count_of(arm));
  double squares = 0;
  Expected sum;
  for (const Series s : arm) {
    if (s.empty()) continue;
    const auto of = static_cast<double>(s.size());
    const Expected e = expected(s.size(), lag1);
    estimate.mean += *mean(s) * of / n;
    sum.mean_variance += e.mean_variance * of * of / (n * n);
    squares += shown(s).squares;
    sum.squares += e.squares;
    sum.traced += e.traced;
  }
  if (sum.squares > 0) estimate.variance = squares / sum.squares * sum.mean_variance;
  if (sum.traced > 0) estimate.degrees = std::max(1.0, sum.squares * sum.squares / sum.traced);
  return estimate;
}

MeanEstimate difference_of(const MeanEstimate& a, const MeanEstimate& b, bool alike) {
  MeanEstimate d{.mean = b.mean - a.mean, .variance = a.variance + b.variance};
  const double parts = a.variance * a.variance / a.degrees + b.variance * b.variance / b.degrees;
  d.degrees = parts > 0 && !alike ? d.variance * d.variance / parts : a.degrees + b.degrees;
  return d;
}

}  // namespace stepscope
