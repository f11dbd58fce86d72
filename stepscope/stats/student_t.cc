// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/student_t.h"

#include <cmath>

namespace stepscope {
namespace {

// Beyond it a test cannot distinguish it from the normal distribution.
constexpr double many_degrees = 1e8;

double away_from_zero(double x) {
  constexpr double least = 1e-300;
  return std::fabs(x) < least ? least : x;
}

// By Lentz's method.
double beta_fraction(double a, double b, double x) {
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double value = d;
  const auto take = [&](double numerator) {
    d = 1 / away_from_zero(1 + numerator * d);
    c = away_from_zero(1 + numerator / c);
    value *= c * d;
  };
  for (int i = 1; i < 100000; ++i) {
    const double m = i;
    take(m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)));
    const double before = value;
    take(-(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)));
    if (std::fabs(value - before) <= 1e-13 * std::fabs(value)) break;
  }
  return value;
}

// The log of the gamma function, without lgamma()'s global sign.
double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

// The regularised I_x(a, b). `rest` = 1 - x is passed separately because it may be tiny.
double incomplete_beta(double a, double b, double x, double rest) {
  if (x <= 0) return 0;
  if (rest <= 0) return 1;
  const double front = std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) +
                                b * std::log(rest));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, rest) / b;
}

}  // namespace

double student_t_tails(double t, double degrees) {
  if (std::isinf(t)) return 0;
  if (degrees > many_degrees) return std::erfc(t / std::sqrt(2.0));
  const double whole = degrees + t * t;
  return incomplete_beta(degrees / 2, 0.5, degrees / whole, t * t / whole);
}

double student_t_critical(double alpha, double degrees) {
  double low = 0;
  double high = 1;
  while (student_t_tails(high, degrees) > alpha && high < 1e12) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-12 * high; ++i) {
    const double middle = (low + high) / 2;
    (student_t_tails(middle, degrees) > alpha ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace stepscope
