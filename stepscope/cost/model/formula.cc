// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/model/formula.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace stepscope {
namespace {

using Binding = Formula::Binding;

std::string digits(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

struct Unit {
  double size;
  std::string_view name;
};

// In the largest unit that the value reaches, the smallest one otherwise.
template <std::size_t N>
Formula in_unit(double value, const std::array<Unit, N>& largest_first) {
  const auto* unit = std::ranges::find_if(
      largest_first, [value](const Unit& u) { return std::abs(value) >= u.size; });
  if (value == 0) unit = largest_first.data();
  if (unit == largest_first.end()) --unit;
  return {digits(value / unit->size) + " " + std::string(unit->name), value, Binding::atom};
}

}  // namespace

std::string Formula::inside(Binding least) const {
  return binding_ < least ? "(" + text_ + ")" : text_;
}

namespace formula {

Formula count(double number) { return {digits(number), number, Binding::atom}; }
Formula count(std::int64_t number) {
  return {std::to_string(number), static_cast<double>(number), Binding::atom};
}
Formula seconds(double s) {
  static constexpr std::array<Unit, 3> units = {{{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}}};
  return in_unit(s, units);
}
Formula bytes(double b) {
  static constexpr std::array<Unit, 4> units = {{{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}}};
  return in_unit(b, units);
}
Formula byte_rate(double b_per_s) {
  static constexpr std::array<Unit, 1> units = {{{1e9, "GB/s"}}};
  return in_unit(b_per_s, units);
}
Formula flops(double f) {
  static constexpr std::array<Unit, 5> units = {
      {{1e18, "EFLOP"}, {1e15, "PFLOP"}, {1e12, "TFLOP"}, {1e9, "GFLOP"}, {1, "FLOP"}}};
  return in_unit(f, units);
}
Formula flop_rate(double f_per_s) {
  static constexpr std::array<Unit, 1> units = {{{1e12, "TFLOP/s"}}};
  return in_unit(f_per_s, units);
}
Formula percent(double share) { return {digits(share * 100) + " %", share, Binding::atom}; }
Formula per_second(double rate) { return {digits(rate) + " /s", rate, Binding::atom}; }

Formula operator+(const Formula& a, const Formula& b) {
  return {a.text() + " + " + b.text(), a.value() + b.value(), Binding::sum};
}
Formula operator-(const Formula& a, const Formula& b) {
  return {a.text() + " - " + b.inside(Binding::product), a.value() - b.value(), Binding::sum};
}
Formula operator*(const Formula& a, const Formula& b) {
  return {a.inside(Binding::product) + " * " + b.inside(Binding::product), a.value() * b.value(),
          Binding::product};
}
Formula operator/(const Formula& a, const Formula& b) {
  return {a.inside(Binding::product) + " / " + b.inside(Binding::atom), a.value() / b.value(),
          Binding::product};
}
Formula max(const Formula& a, const Formula& b) {
  return {"max(" + a.text() + ", " + b.text() + ")", std::max(a.value(), b.value()), Binding::atom};
}
Formula min(const Formula& a, const Formula& b) {
  return {"min(" + a.text() + ", " + b.text() + ")", std::min(a.value(), b.value()), Binding::atom};
}
Formula power(const Formula& base, double exponent) {
  return {"(" + base.text() + ")^" + digits(exponent), std::pow(base.value(), exponent),
          Binding::atom};
}
Formula ceiling(const Formula& a) {
  return {"ceil(" + a.text() + ")", std::ceil(a.value()), Binding::atom};
}

Formula norm(const Formula& a, const Formula& b, double p) {
  constexpr double maximum_from = 1000;
  if (a.value() <= 0) return b;
  if (b.value() <= 0) return a;
  if (p == 1) return a + b;
  if (p >= maximum_from) return max(a, b);
  // Scaled by the larger, or powers of small times vanish.
  const bool first = a.value() >= b.value();
  const Formula& high = first ? a : b;
  const Formula& low = first ? b : a;
  const Formula root = power(count(std::int64_t{1}) + power(low / high, p), 1 / p);
  return high * root;
}

Formula sum(std::initializer_list<Formula> parts, const Formula& zero) {
  const Formula* only = nullptr;
  std::string text;
  double value = 0;
  int terms = 0;
  for (const Formula& part : parts) {
    if (part.value() == 0) continue;
    if (++terms > 1) text += " + ";
    text += part.text();
    value += part.value();
    only = &part;
  }
  if (terms == 0) return zero;
  return terms == 1 ? *only : Formula(text, value, Binding::sum);
}

}  // namespace formula

std::string explained(std::string_view name, std::string_view words, const Formula& expression,
                      const Formula& result, std::string_view where) {
  std::string text = std::string(name) + " = " + std::string(words);
  if (expression.text() != result.text()) text += " = " + expression.text();
  text += " = " + result.text();
  if (!where.empty()) text += "; " + std::string(where);
  return text;
}

}  // namespace stepscope
