// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/nonlinear_fit.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace stepscope {
namespace {

struct Problem {
  const Residuals& residuals;
  std::span<const double> weights;
  std::span<const double> low;
  std::span<const double> high;
  const NonlinearOptions& options;
};

// The state of the search: m observations, n parameters, derivatives by parameter.
struct FitPoint {
  std::vector<double> x;
  std::vector<double> r;
  double cost = 0;
};

double robust_cost(const Problem& p, std::span<const double> r) {
  const double s = p.options.outlier_scale;
  double sum = 0;
  for (std::size_t i = 0; i < r.size(); ++i) {
    const double z = r[i] / s;
    sum += p.weights[i] * 2 * s * s * (std::sqrt(1 + z * z) - 1);
  }
  return sum;
}

FitPoint evaluate(const Problem& p, std::vector<double> x) {
  FitPoint point{.x = std::move(x), .r = std::vector<double>(p.weights.size()), .cost = 0};
  p.residuals(point.x, point.r);
  point.cost = robust_cost(p, point.r);
  return point;
}

// n columns of m derivatives, one after the other.
std::vector<double> derivatives(const Problem& p, const FitPoint& at) {
  const std::size_t m = at.r.size();
  std::vector<double> columns(at.x.size() * m);
  std::vector<double> x = at.x;
  std::vector<double> moved(m);
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double h = x[j] + p.options.step <= p.high[j] ? p.options.step : -p.options.step;
    x[j] += h;
    p.residuals(x, moved);
    x[j] = at.x[j];
    for (std::size_t i = 0; i < m; ++i) columns[j * m + i] = (moved[i] - at.r[i]) / h;
  }
  return columns;
}

struct NormalEquations {
  std::size_t n;
  std::vector<double> matrix;    // n x n, symmetric
  std::vector<double> gradient;  // of half the cost
};

NormalEquations normal_equations(const Problem& p, const FitPoint& at,
                                 std::span<const double> columns) {
  const std::size_t n = at.x.size();
  const std::size_t m = at.r.size();
  std::vector<double> w(m);
  for (std::size_t i = 0; i < m; ++i) {
    const double z = at.r[i] / p.options.outlier_scale;
    w[i] = p.weights[i] / std::sqrt(1 + z * z);
  }
  NormalEquations e{n, std::vector<double>(n * n), std::vector<double>(n)};
  for (std::size_t j = 0; j < n; ++j) {
    const double* cj = columns.data() + j * m;
    for (std::size_t i = 0; i < m; ++i) e.gradient[j] += w[i] * cj[i] * at.r[i];
    for (std::size_t k = 0; k <= j; ++k) {
      const double* ck = columns.data() + k * m;
      double sum = 0;
      for (std::size_t i = 0; i < m; ++i) sum += w[i] * cj[i] * ck[i];
      e.matrix[j * n + k] = e.matrix[k * n + j] = sum;
    }
  }
  return e;
}

// Solves by Cholesky for matrix + damping x diagonal; absent if it is not positive definite.
std::optional<std::vector<double>> damped_step(const NormalEquations& e, double damping) {
  const std::size_t n = e.n;
  std::vector<double> l = e.matrix;
  for (std::size_t j = 0; j < n; ++j) {
    l[j * n + j] += damping * (e.matrix[j * n + j] + 1e-12) + 1e-15;
    for (std::size_t k = 0; k < j; ++k) l[j * n + j] -= l[j * n + k] * l[j * n + k];
    if (!(l[j * n + j] > 0)) return std::nullopt;
    l[j * n + j] = std::sqrt(l[j * n + j]);
    for (std::size_t i = j + 1; i < n; ++i) {
      for (std::size_t k = 0; k < j; ++k) l[i * n + j] -= l[i * n + k] * l[j * n + k];
      l[i * n + j] /= l[j * n + j];
    }
  }
  std::vector<double> step(n);
  for (std::size_t i = 0; i < n; ++i) {
    step[i] = -e.gradient[i];
    for (std::size_t k = 0; k < i; ++k) step[i] -= l[i * n + k] * step[k];
    step[i] /= l[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) step[i] -= l[k * n + i] * step[k];
    step[i] /= l[i * n + i];
  }
  return step;
}

// Freezes each parameter at a bound that the gradient pushes against.
void freeze_at_bounds(const Problem& p, const FitPoint& at, NormalEquations& e) {
  for (std::size_t j = 0; j < e.n; ++j) {
    const bool stuck =
        (at.x[j] <= p.low[j] && e.gradient[j] > 0) || (at.x[j] >= p.high[j] && e.gradient[j] < 0);
    if (!stuck) continue;
    for (std::size_t k = 0; k < e.n; ++k) e.matrix[j * e.n + k] = e.matrix[k * e.n + j] = 0;
    e.matrix[j * e.n + j] = 1;
    e.gradient[j] = 0;
  }
}

// The first damped step that lowers the cost; absent if no step does.
std::optional<FitPoint> improve(const Problem& p, const FitPoint& at, const NormalEquations& e,
                                double& damping) {
  for (int attempt = 0; attempt < 12; ++attempt) {
    if (const auto step = damped_step(e, damping)) {
      std::vector<double> x = at.x;
      for (std::size_t j = 0; j < x.size(); ++j) {
        x[j] = std::clamp(x[j] + std::clamp((*step)[j], -1.0, 1.0), p.low[j], p.high[j]);
      }
      FitPoint next = evaluate(p, std::move(x));
      if (next.cost < at.cost) {
        damping = std::max(damping * 0.3, 1e-9);
        return next;
      }
    }
    damping = std::min(damping * 4, 1e9);
  }
  return std::nullopt;
}

}  // namespace

NonlinearFit fit_nonlinear(const Residuals& residuals, std::span<const double> weights,
                           std::span<const double> start, std::span<const double> low,
                           std::span<const double> high, const NonlinearOptions& options) {
  const Problem p{residuals, weights, low, high, options};
  std::vector<double> x(start.begin(), start.end());
  for (std::size_t j = 0; j < x.size(); ++j) x[j] = std::clamp(x[j], low[j], high[j]);
  FitPoint at = evaluate(p, std::move(x));
  double damping = 1e-2;
  for (int i = 0; i < options.iterations; ++i) {
    NormalEquations e = normal_equations(p, at, derivatives(p, at));
    freeze_at_bounds(p, at, e);
    std::optional<FitPoint> next = improve(p, at, e, damping);
    if (!next) break;
    const bool settled = at.cost - next->cost <= options.tolerance * at.cost;
    at = *std::move(next);
    if (settled) break;
  }
  const NormalEquations e = normal_equations(p, at, derivatives(p, at));
  NonlinearFit fit{.x = std::move(at.x), .cost = at.cost, .sensitivity = {}};
  for (std::size_t j = 0; j < e.n; ++j) {
    fit.sensitivity.push_back(std::sqrt(e.matrix[j * e.n + j]));
  }
  return fit;
}

}  // namespace stepscope
