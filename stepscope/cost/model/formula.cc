// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/model/formula.h"

#include <array>
#include <cstdio>
#include <span>

namespace stepscope {
namespace {

using Binding = Formula::Binding;
using Text = Formula::Text;

std::string digits(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

struct Scale {
  double size;
  std::string_view name;
};

constexpr std::array<Scale, 1> numbers = {{{1, ""}}};
constexpr std::array<Scale, 3> seconds = {{{1, " s"}, {1e-3, " ms"}, {1e-6, " us"}}};
constexpr std::array<Scale, 4> bytes = {{{1e9, " GB"}, {1e6, " MB"}, {1e3, " kB"}, {1, " B"}}};
constexpr std::array<Scale, 1> byte_rates = {{{1e9, " GB/s"}}};
constexpr std::array<Scale, 5> flops = {
    {{1e18, " EFLOP"}, {1e15, " PFLOP"}, {1e12, " TFLOP"}, {1e9, " GFLOP"}, {1, " FLOP"}}};
constexpr std::array<Scale, 1> flop_rates = {{{1e12, " TFLOP/s"}}};
constexpr std::array<Scale, 1> percents = {{{0.01, " %"}}};
constexpr std::array<Scale, 1> rates = {{{1, " /s"}}};
// By Unit, largest first.
constexpr std::array<std::span<const Scale>, 8> scales = {numbers, seconds,    bytes,    byte_rates,
                                                          flops,   flop_rates, percents, rates};

// In the largest unit that the value reaches, else in the smallest.
std::string in_unit(double value, std::span<const Scale> largest_first) {
  const Scale* unit = largest_first.data();
  for (const Scale& one : largest_first) {
    unit = &one;
    if (value == 0 || std::abs(value) >= one.size) break;
  }
  return digits(value / unit->size) + std::string(unit->name);
}

Text infix(const Text& a, Binding left, std::string_view sign, const Text& b, Binding right,
           Binding whole) {
  return {a.inside(left) + std::string(sign) + b.inside(right), whole};
}

Text call(std::string_view function, const Text& a, const Text& b) {
  return {std::string(function) + "(" + a.text + ", " + b.text + ")"};
}

}  // namespace

Formula::Formula(double number)
    : words_{digits(number)}, figures_{digits(number)}, value_(number) {}

Formula operator+(const Formula& a, const Formula& b) {
  if (a.is_nothing()) return b;
  if (b.is_nothing()) return a;
  constexpr auto sum = Binding::sum;
  const double value = a.value() + b.value();
  Text words = infix(a.words(), sum, " + ", b.words(), sum, sum);
  if (b.value() == 0) return {std::move(words), a.figures(), value};
  if (a.value() == 0) return {std::move(words), b.figures(), value};
  return {std::move(words), infix(a.figures(), sum, " + ", b.figures(), sum, sum), value};
}
Formula operator-(const Formula& a, const Formula& b) {
  constexpr auto sum = Binding::sum;
  Text words = infix(a.words(), sum, " - ", b.words(), Binding::product, sum);
  if (b.value() == 0) return {std::move(words), a.figures(), a.value()};
  return {std::move(words), infix(a.figures(), sum, " - ", b.figures(), Binding::product, sum),
          a.value() - b.value()};
}
Formula operator*(const Formula& a, const Formula& b) {
  constexpr auto product = Binding::product;
  return {infix(a.words(), product, " * ", b.words(), product, product),
          infix(a.figures(), product, " * ", b.figures(), product, product), a.value() * b.value()};
}
Formula operator/(const Formula& a, const Formula& b) {
  constexpr auto product = Binding::product;
  return {infix(a.words(), product, " / ", b.words(), Binding::atom, product),
          infix(a.figures(), product, " / ", b.figures(), Binding::atom, product),
          a.value() / b.value()};
}

namespace formula {

Formula quantity(double value, Unit unit, std::string_view name) {
  Text figures{in_unit(value, scales[static_cast<std::size_t>(unit)])};
  if (!name.empty()) return {{std::string(name)}, std::move(figures), value};
  return {{value == 0 ? "0" : figures.text}, figures, value};
}

Formula whole(std::int64_t number, std::string_view name) {
  const std::string text = std::to_string(number);
  return {{name.empty() ? text : std::string(name)}, {text}, static_cast<double>(number)};
}

Formula max(const Formula& a, const Formula& b) {
  return {call("max", a.words(), b.words()), call("max", a.figures(), b.figures()),
          std::max(a.value(), b.value())};
}
Formula min(const Formula& a, const Formula& b) {
  return {call("min", a.words(), b.words()), call("min", a.figures(), b.figures()),
          std::min(a.value(), b.value())};
}
Formula ceiling(const Formula& a) {
  return {
      {"ceil(" + a.words().text + ")"}, {"ceil(" + a.figures().text + ")"}, std::ceil(a.value())};
}

namespace {

constexpr double maximum_from = 1000;  // from this power on norm is the larger of the two

Text norm_figures(const Formula& a, const Formula& b, double p) {
  if (a.value() <= 0) return b.figures();
  if (b.value() <= 0) return a.figures();
  if (p == 1) return (a + b).figures();
  if (p >= maximum_from) return max(a, b).figures();
  // Scaled by the larger one, or powers of small times would vanish.
  const bool first = a.value() >= b.value();
  const Formula& high = first ? a : b;
  const Formula& low = first ? b : a;
  const std::string share =
      "(1 + (" + (low / high).figures().text + ")^" + digits(p) + ")^" + digits(1 / p);
  return {high.figures().inside(Binding::product) + " * " + share, Binding::product};
}

}  // namespace

double norm(double a, double b, double p) {
  const double high = std::max(a, b);
  if (high <= 0 || p >= maximum_from) return high;
  if (p == 1) return a + b;
  return high * std::pow(1 + std::pow(std::min(a, b) / high, p), 1 / p);
}

Formula norm(const Formula& a, const Formula& b, double p) {
  return {call("norm", a.words(), b.words()), norm_figures(a, b, p), norm(a.value(), b.value(), p)};
}

Formula at(const Formula& amount, double per_byte, std::string_view rate) {
  const Formula by = quantity(per_byte > 0 ? 1 / per_byte : 1, Unit::byte_rate, rate);
  const Formula quotient = amount / by;
  if (per_byte > 0) return quotient.with_value(amount.value() * per_byte);
  return {quotient.words(), {"0 s"}, 0};
}

Formula scaled(const Formula& x, double a, double b, std::string_view name) {
  if (a == b) return x.with_value(x.value() * a / b);
  return (x * quantity(a / b, Unit::none, name)).with_value(x.value() * a / b);
}

Formula named(const Formula& x, std::string_view name) {
  return {{std::string(name)}, x.figures(), x.value()};
}

}  // namespace formula

std::string explained(std::string_view name, const Formula& expression, const Formula& result,
                      std::string_view where) {
  const std::string& figures = expression.figures().text;
  std::string text = std::string(name) + " = " + expression.words().text;
  if (figures != result.figures().text) text += " = " + figures;
  text += " = " + result.figures().text;
  if (!where.empty()) text += "; " + std::string(where);
  return text;
}

}  // namespace stepscope
