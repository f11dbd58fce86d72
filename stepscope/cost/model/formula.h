// SPDX-License-Identifier: Apache-2.0
// The number type of the performance model's terms. A term is a template over N and is written
// once. With double it is a number. With Formula it also records its expression, in words ("bytes /
// rate") and in figures ("3 GB / 25 GB/s"), for --explain. Times are seconds, amounts bytes or
// FLOPs.
//
// Figures can be evaluated: numbers of six digits, each with a unit (us, ms, s, B to GB, GB/s, FLOP
// to EFLOP, TFLOP/s) or none, + - * / ^, parentheses, min, max, ceil, and combined(a, b, c, k) of
// collective_terms.h. "within" and "across" after a number name its links. Zero addends are left
// out of the figures.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace stepscope {

class Formula {
 public:
  enum class Binding : std::uint8_t { sum, product, atom };
  struct Text {
    std::string text;
    Binding binding = Binding::atom;

    // In parentheses if it binds less than `least`.
    [[nodiscard]] std::string inside(Binding least) const {
      return binding < least ? "(" + text + ")" : text;
    }
  };

  // A plain number, such as a constant of a term: 2, 1.5.
  Formula(double number);  // NOLINT(google-explicit-constructor): 2 * bytes
  Formula(Text words, Text figures, double value)
      : words_(std::move(words)), figures_(std::move(figures)), value_(value) {}

  [[nodiscard]] const Text& words() const { return words_; }
  [[nodiscard]] const Text& figures() const { return figures_; }
  [[nodiscard]] double value() const { return value_; }
  // The same figures with a value from another grouping, which differs in the last digits.
  [[nodiscard]] Formula with_value(double value) const { return {words_, figures_, value}; }
  // True for a zero without a name. Sums leave it out.
  [[nodiscard]] bool is_nothing() const { return value_ == 0 && words_.text == "0"; }

 private:
  Text words_;
  Text figures_;
  double value_;
};

[[nodiscard]] Formula operator+(const Formula& a, const Formula& b);
[[nodiscard]] Formula operator-(const Formula& a, const Formula& b);
[[nodiscard]] Formula operator*(const Formula& a, const Formula& b);
[[nodiscard]] Formula operator/(const Formula& a, const Formula& b);

namespace formula {

template <class N>
concept Number = std::same_as<N, double> || std::same_as<N, Formula>;

enum class Unit : std::uint8_t {
  none,
  second,
  byte,
  byte_rate,
  flop,
  flop_rate,
  percent,
  per_second
};
// If the name is empty, the words are the figures.
[[nodiscard]] Formula quantity(double value, Unit unit, std::string_view name);
// Prints all digits.
[[nodiscard]] Formula whole(std::int64_t number, std::string_view name);

template <Number N>
constexpr N quantity_of(double value, Unit unit, std::string_view name) {
  if constexpr (std::same_as<N, double>)
    return value;
  else
    return quantity(value, unit, name);
}
template <Number N, class Value>
constexpr N count(Value number, std::string_view name = {}) {
  if constexpr (std::same_as<N, Formula> && std::integral<Value>)
    return whole(number, name);
  else
    return quantity_of<N>(static_cast<double>(number), Unit::none, name);
}
template <Number N>
constexpr N seconds(double s, std::string_view name = {}) {
  return quantity_of<N>(s, Unit::second, name);
}
template <Number N>
constexpr N bytes(double b, std::string_view name = {}) {
  return quantity_of<N>(b, Unit::byte, name);
}
template <Number N>
constexpr N byte_rate(double b_per_s, std::string_view name = {}) {
  return quantity_of<N>(b_per_s, Unit::byte_rate, name);
}
template <Number N>
constexpr N flops(double f, std::string_view name = {}) {
  return quantity_of<N>(f, Unit::flop, name);
}
template <Number N>
constexpr N flop_rate(double f_per_s, std::string_view name = {}) {
  return quantity_of<N>(f_per_s, Unit::flop_rate, name);
}

// The value of a term without its text.
constexpr double value(double x) { return x; }
inline double value(const Formula& x) { return x.value(); }

constexpr double max(double a, double b) { return std::max(a, b); }
constexpr double min(double a, double b) { return std::min(a, b); }
inline double ceiling(double a) { return std::ceil(a); }
[[nodiscard]] Formula max(const Formula& a, const Formula& b);
[[nodiscard]] Formula min(const Formula& a, const Formula& b);
[[nodiscard]] Formula ceiling(const Formula& a);

// (a^p + b^p)^(1/p); their maximum from p = 1000 on (compute_time.h).
[[nodiscard]] double norm(double a, double b, double p);
[[nodiscard]] Formula norm(const Formula& a, const Formula& b, double p);

// An amount times seconds per byte, printed as a division by a rate.
constexpr double at(double amount, double per_byte, std::string_view) { return amount * per_byte; }
[[nodiscard]] Formula at(const Formula& amount, double per_byte, std::string_view rate);

// x times a / b, printed as x times one number, or as x if that is 1.
constexpr double scaled(double x, double a, double b, std::string_view) { return x * a / b; }
[[nodiscard]] Formula scaled(const Formula& x, double a, double b, std::string_view name);

// The same figures under a name.
constexpr double named(double x, std::string_view) { return x; }
[[nodiscard]] Formula named(const Formula& x, std::string_view name);

// A sum of like terms: in words "sum over units of (...)", in figures each term.
template <Number N>
class Total {
 public:
  explicit Total(std::string_view over) : over_(over) {}
  void add(const N& term) {
    sum_ = sum_ + term;
    if constexpr (std::same_as<N, Formula>) {
      if (terms_++ == 0) words_ = term.words().inside(Formula::Binding::product);
    }
  }
  [[nodiscard]] N value() const {
    if constexpr (std::same_as<N, double>) {
      return sum_;
    } else {
      if (terms_ < 2) return sum_;
      return {{"sum over " + std::string(over_) + " of " + words_, Formula::Binding::product},
              sum_.figures(),
              sum_.value()};
    }
  }

 private:
  std::string_view over_;
  N sum_ = 0.0;
  std::string words_;
  int terms_ = 0;
};

}  // namespace formula

// "NAME = WORDS = FIGURES = RESULT; WHERE". Leaves out figures that equal the result. `result` is
// the same value in its unit.
[[nodiscard]] std::string explained(std::string_view name, const Formula& expression,
                                    const Formula& result, std::string_view where = {});

}  // namespace stepscope
