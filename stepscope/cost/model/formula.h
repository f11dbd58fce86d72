// SPDX-License-Identifier: Apache-2.0
// An expression with values in it, as --explain prints it, beside what it comes to: text and number
// grow together, so that neither can say something else. Times are seconds, amounts bytes or FLOPs.
//
// What is printed can be evaluated: numbers of six digits, each with a unit (us, ms, s, B to GB,
// GB/s, FLOP to EFLOP, TFLOP/s) or none, + - * / ^, parentheses, min, max, ceil, and combined(a,
// b, c, k) of collective_cost.h. "within" and "across" after a number say which links it is of.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace stepscope {

class Formula {
 public:
  enum class Binding : std::uint8_t { sum, product, atom };
  Formula(std::string text, double value, Binding binding)
      : text_(std::move(text)), value_(value), binding_(binding) {}

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] double value() const { return value_; }
  // In parentheses where it binds less than `least`.
  [[nodiscard]] std::string inside(Binding least) const;

 private:
  std::string text_;
  double value_;
  Binding binding_;
};

namespace formula {

[[nodiscard]] Formula count(double number);
[[nodiscard]] Formula count(std::int64_t number);
[[nodiscard]] Formula seconds(double s);
[[nodiscard]] Formula bytes(double b);
[[nodiscard]] Formula byte_rate(double b_per_s);
[[nodiscard]] Formula flops(double f);
[[nodiscard]] Formula flop_rate(double f_per_s);
[[nodiscard]] Formula percent(double share);
[[nodiscard]] Formula per_second(double rate);

[[nodiscard]] Formula operator+(const Formula& a, const Formula& b);
[[nodiscard]] Formula operator-(const Formula& a, const Formula& b);
[[nodiscard]] Formula operator*(const Formula& a, const Formula& b);
[[nodiscard]] Formula operator/(const Formula& a, const Formula& b);
[[nodiscard]] Formula max(const Formula& a, const Formula& b);
[[nodiscard]] Formula min(const Formula& a, const Formula& b);
[[nodiscard]] Formula power(const Formula& base, double exponent);
[[nodiscard]] Formula ceiling(const Formula& a);
// (a^p + b^p)^(1/p); their maximum from p = 1000 on (compute_time.h).
[[nodiscard]] Formula norm(const Formula& a, const Formula& b, double p);
// Of those that are not zero; `zero` where all are.
[[nodiscard]] Formula sum(std::initializer_list<Formula> parts, const Formula& zero);

}  // namespace formula

// "NAME = WORDS = EXPRESSION = RESULT; WHERE", without an expression that is the result itself.
[[nodiscard]] std::string explained(std::string_view name, std::string_view words,
                                    const Formula& expression, const Formula& result,
                                    std::string_view where = {});

}  // namespace stepscope
