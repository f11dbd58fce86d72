// SPDX-License-Identifier: Apache-2.0
// Shared by the kernels' tests: numbers, comparison, and every instruction set in turn.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "stepscope/base/element.h"
#include "stepscope/base/isa.h"

namespace stepscope::nn {

inline double as_double(float x) { return static_cast<double>(x); }
inline double as_double(Bf16 x) { return static_cast<double>(to_float(x)); }
inline double as_double(double x) { return x; }

template <class T>
T element(double x) {
  if constexpr (std::is_same_v<T, Bf16>) {
    return to_bf16(static_cast<float>(x));
  } else {
    return static_cast<T>(x);
  }
}

// The relative error of one rounding: half the distance of neighbouring values of T.
template <class T>
constexpr double rounding = std::is_same_v<T, Bf16> ? 0x1p-8 : 0x1p-24;

// Normally distributed numbers of type T.
template <class T>
std::vector<T> numbers(std::int64_t count, std::uint32_t seed, double deviation = 1.0) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal(0.0, deviation);
  std::vector<T> out;
  out.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) out.push_back(element<T>(normal(bits)));
  return out;
}

template <class T>
std::vector<double> doubles(const std::vector<T>& x) {
  std::vector<double> out;
  out.reserve(x.size());
  for (const T value : x) out.push_back(as_double(value));
  return out;
}

// |got - want| <= error * (|want| + unit) for all elements. `unit` is the size of the terms that
// cancel in a result near zero.
template <class T>
void expect_close(const std::vector<T>& got, const std::vector<double>& want, double error,
                  double unit, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double off = std::abs(as_double(got[i]) - want[i]) / (std::abs(want[i]) + unit);
    if (!(off <= worst)) {
      worst = off;
      at = i;
    }
    if (std::isnan(off)) break;
  }
  EXPECT_LE(worst, error) << what << ": element " << at << " is " << as_double(got[at])
                          << ", should be " << want[at];
}

// The gradient of f at x by central differences; f: const std::vector<double>& -> double. The error
// is about 1e-9 for an f in double whose values and third derivatives are near 1.
template <class F>
std::vector<double> differences(std::vector<double> x, F f) {
  constexpr double h = 1e-5;
  std::vector<double> out;
  out.reserve(x.size());
  for (double& value : x) {
    const double at = value;
    value = at + h;
    const double above = f(x);
    value = at - h;
    out.push_back((above - f(x)) / (2 * h));
    value = at;
  }
  return out;
}

// The sum of a[i] b[i]. It turns a result into one number whose gradient is b.
inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// The earlier contents of an output that a kernel adds to.
template <class T>
std::vector<double> added(std::vector<double> gradient, const std::vector<T>& before, bool add) {
  for (std::size_t i = 0; add && i < gradient.size(); ++i) gradient[i] += as_double(before[i]);
  return gradient;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const T& x, const T& y) {
           if constexpr (std::is_same_v<T, float>) {
             return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
           } else {
             return x == y;
           }
         });
}

// A test that runs for float and Bf16 with each instruction set of this machine:
// TYPED_TEST_SUITE(X, Elements), struct X : KernelTest<T>, and for_each_isa([&] { ... }).
template <class T>
class KernelTest : public testing::Test {
 protected:
  ~KernelTest() override { use_isa(available_isas().back()); }
};
using Elements = testing::Types<float, Bf16>;

template <class Body>
void for_each_isa(Body body) {
  for (const Isa level : available_isas()) {
    use_isa(level);
    SCOPED_TRACE(isa_name(level));
    body();
  }
}

}  // namespace stepscope::nn
