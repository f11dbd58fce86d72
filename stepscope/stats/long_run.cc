// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/long_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr std::size_t most_lags = 40;
constexpr double largest_lag1 = 0.99;

// sum of w_t w_{t+k}, in four independent sums so that none waits for the last.
double lagged_products(std::span<const double> w, std::size_t k) {
  std::array<double, 4> sums{};
  const std::size_t n = w.size() - k;
  std::size_t t = 0;
  for (; t + 4 <= n; t += 4)
    for (std::size_t j = 0; j < 4; ++j) sums[j] += w[t + j] * w[t + j + k];
  for (; t < n; ++t) sums[0] += w[t] * w[t + k];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// c[k] = sum over stretches of (x_t - mean)(x_{t+k} - mean), over all N.
std::vector<double> autocovariances(std::span<const Series> stretches, std::size_t lags) {
  std::vector<double> c(lags + 1, 0.0);
  std::size_t count = 0;
  std::vector<double> w;
  for (const Series s : stretches) {
    if (s.empty()) continue;
    count += s.size();
    const double middle = *mean(s);
    w.resize(s.size());
    std::ranges::transform(s, w.begin(), [&](double x) { return x - middle; });
    for (std::size_t k = 0; k <= lags && k < w.size(); ++k) c[k] += lagged_products(w, k);
  }
  for (double& v : c) v /= static_cast<double>(std::max<std::size_t>(count, 1));
  return c;
}

struct Autoregression {
  int order = 0;
  double innovation = 1;  // variance of the residuals, as a share of the variance
  double sum = 0;         // of the coefficients
};

// Levinson's recursion on autocorrelations r[0] = 1, ...; returns the order with the least BIC.
Autoregression best_autoregression(std::span<const double> r, double count) {
  Autoregression best;
  double least = 0;
  double innovation = 1;
  std::vector<double> phi;
  for (std::size_t p = 1; p < r.size(); ++p) {
    double reflected = r[p];
    for (std::size_t j = 0; j + 1 < p; ++j) reflected -= phi[j] * r[p - 1 - j];
    reflected /= innovation;
    if (!(std::fabs(reflected) < 1)) break;
    const std::vector<double> before = phi;
    for (std::size_t j = 0; j + 1 < p; ++j) phi[j] = before[j] - reflected * before[p - 2 - j];
    phi.push_back(reflected);
    innovation *= 1 - reflected * reflected;
    const double bic = count * std::log(innovation) + static_cast<double>(p) * std::log(count);
    if (bic >= least) continue;
    least = bic;
    best = {.order = static_cast<int>(p), .innovation = innovation, .sum = 0};
    for (const double coefficient : phi) best.sum += coefficient;
  }
  return best;
}

// A sum of AR coefficients, corrected because the mean was estimated from `each` values.
double corrected(double sum, double each) {
  return std::clamp((each * sum + 1) / std::max(each - 4, 1.0), 0.0, largest_lag1);
}

}  // namespace

LongRun long_run(std::span<const Series> stretches) {
  LongRun run;
  double used = 0;
  for (const Series s : stretches) {
    run.count += s.size();
    if (!s.empty()) used += 1;
  }
  if (run.count == 0) return run;
  const auto n = static_cast<double>(run.count);
  const double each = n / used;
  const auto lags =
      std::min(most_lags, static_cast<std::size_t>(std::min(10 * std::log10(n), each / 5)));
  const std::vector<double> c = autocovariances(stretches, std::max<std::size_t>(lags, 1));
  run.effective = n;
  run.degrees = std::max(n - used, 1.0);
  if (!(c[0] > 0)) return run;
  std::vector<double> r(c);
  for (double& v : r) v /= c[0];
  run.lag1 = corrected(r[1], each);
  run.time = (1 + run.lag1) / (1 - run.lag1);
  const Autoregression ar = best_autoregression(r, n);
  run.order = ar.order;
  if (ar.order > 1) {
    const double rest = 1 - corrected(ar.sum, each);
    run.time = std::max(run.time, ar.innovation / (rest * rest));
  }
  run.time = std::clamp(run.time, 1.0, std::max(n, 1.0));
  run.effective = n / run.time;
  run.variance = c[0] / (1 - std::min(run.time / each, 0.9));
  const double parameters = std::max(run.time, static_cast<double>(ar.order));
  run.degrees = std::max(n / (1 + 2 * parameters), 1.0);
  return run;
}

LongRun long_run(Series values) { return long_run(std::span(&values, 1)); }

}  // namespace stepscope
