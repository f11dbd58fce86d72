// SPDX-License-Identifier: Apache-2.0
// Evaluates the output of formula.h independently: numbers with units, + - * / ^, parentheses, min,
// max, ceil and combined. A printed number stands for all numbers that round to it, so a value is
// an interval. It also has a dimension, so that adding seconds to bytes is an error. For tests.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::explain_test {

// Powers of seconds, bytes and FLOPs.
using Dimension = std::array<double, 3>;

struct Quantity {
  double low = 0;
  double high = 0;
  Dimension dimension{};
};

struct Unit {
  std::string_view name;
  double size;
  Dimension dimension;
};
inline constexpr std::array<Unit, 17> units = {{{"us", 1e-6, {1, 0, 0}},
                                                {"ms", 1e-3, {1, 0, 0}},
                                                {"s", 1, {1, 0, 0}},
                                                {"B", 1, {0, 1, 0}},
                                                {"kB", 1e3, {0, 1, 0}},
                                                {"MB", 1e6, {0, 1, 0}},
                                                {"GB", 1e9, {0, 1, 0}},
                                                {"GB/s", 1e9, {-1, 1, 0}},
                                                {"FLOP", 1, {0, 0, 1}},
                                                {"GFLOP", 1e9, {0, 0, 1}},
                                                {"TFLOP", 1e12, {0, 0, 1}},
                                                {"PFLOP", 1e15, {0, 0, 1}},
                                                {"EFLOP", 1e18, {0, 0, 1}},
                                                {"TFLOP/s", 1e12, {-1, 0, 1}},
                                                {"/s", 1, {-1, 0, 0}},
                                                {"%", 0.01, {0, 0, 0}},
                                                {"", 1, {0, 0, 0}}}};

class Expression {
 public:
  explicit Expression(std::string_view text) : text_(text) {}

  // Throws std::runtime_error if the text is not an expression or its dimensions disagree.
  [[nodiscard]] Quantity value() {
    const Quantity q = sum();
    if (at_ != text_.size()) fail("something behind the expression");
    return q;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(what + " at " + std::to_string(at_) + " of: " + std::string(text_));
  }
  bool take(std::string_view token) {
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  static Quantity of(std::array<double, 4> corners, Dimension dimension) {
    const auto [low, high] = std::minmax_element(corners.begin(), corners.end());
    return {*low, *high, dimension};
  }
  void same(const Quantity& a, const Quantity& b) const {
    for (std::size_t i = 0; i < a.dimension.size(); ++i) {
      if (std::abs(a.dimension[i] - b.dimension[i]) > 1e-4) fail("other dimensions");
    }
  }

  Quantity sum() {
    Quantity q = product();
    for (;;) {
      if (take(" + ")) {
        const Quantity r = product();
        same(q, r);
        q = {q.low + r.low, q.high + r.high, q.dimension};
      } else if (take(" - ")) {
        const Quantity r = product();
        same(q, r);
        q = {q.low - r.high, q.high - r.low, q.dimension};
      } else {
        return q;
      }
    }
  }

  Quantity product() {
    Quantity q = power();
    for (;;) {
      const bool divides = take(" / ");
      if (!divides && !take(" * ")) return q;
      const Quantity r = power();
      Dimension d = q.dimension;
      for (std::size_t i = 0; i < d.size(); ++i) d[i] += divides ? -r.dimension[i] : r.dimension[i];
      if (divides && r.low <= 0 && r.high >= 0) fail("a division by nothing");
      q = divides ? of({q.low / r.low, q.low / r.high, q.high / r.low, q.high / r.high}, d)
                  : of({q.low * r.low, q.low * r.high, q.high * r.low, q.high * r.high}, d);
    }
  }

  Quantity power() {
    Quantity q = atom();
    if (!take("^")) return q;
    const Quantity p = atom();
    Dimension d = q.dimension;
    for (double& one : d) one *= (p.low + p.high) / 2;
    return of({std::pow(q.low, p.low), std::pow(q.low, p.high), std::pow(q.high, p.low),
               std::pow(q.high, p.high)},
              d);
  }

  std::vector<Quantity> arguments(std::size_t count) {
    std::vector<Quantity> all = {sum()};
    while (take(", ")) all.push_back(sum());
    if (!take(")")) fail("an argument list that does not end");
    if (all.size() != count) fail("another number of arguments");
    return all;
  }

  static double combined(double a, double b, double c, double k) {
    return (a + b + std::sqrt((a - b) * (a - b) + 4 * c * a * b)) / 2 + 2 * k * std::sqrt(a * b);
  }

  Quantity atom() {
    if (take("(")) {
      const Quantity q = sum();
      if (!take(")")) fail("a parenthesis that does not end");
      return q;
    }
    const bool smaller = take("min(");
    if (smaller || take("max(")) {
      const auto a = arguments(2);
      same(a[0], a[1]);
      return smaller ? Quantity{std::min(a[0].low, a[1].low), std::min(a[0].high, a[1].high),
                                a[0].dimension}
                     : Quantity{std::max(a[0].low, a[1].low), std::max(a[0].high, a[1].high),
                                a[0].dimension};
    }
    if (take("ceil(")) {
      const Quantity q = arguments(1)[0];
      return {std::ceil(q.low), std::ceil(q.high), q.dimension};
    }
    if (take("combined(")) {  // increasing in each of its four arguments
      const auto a = arguments(4);
      same(a[0], a[1]);
      return {combined(a[0].low, a[1].low, a[2].low, a[3].low),
              combined(a[0].high, a[1].high, a[2].high, a[3].high), a[0].dimension};
    }
    return number();
  }

  Quantity number() {
    const std::string rest(text_.substr(at_, 40));
    char* end = nullptr;
    const double n = std::strtod(rest.c_str(), &end);
    const auto length = static_cast<std::size_t>(end - rest.c_str());
    if (length == 0) fail("no number");
    at_ += length;
    // Half a unit of the sixth digit.
    const double half =
        n == 0 ? 0 : 0.5 * std::pow(10, std::floor(std::log10(std::abs(n))) - 5) * (1 + 1e-9);
    std::string_view name;
    if (text_.substr(at_, 1) == " ") {
      const std::size_t from = at_ + 1;
      std::size_t to = from;
      while (to < text_.size() && (std::isalpha(static_cast<unsigned char>(text_[to])) != 0 ||
                                   text_[to] == '%' || text_[to] == '/')) {
        ++to;
      }
      name = text_.substr(from, to - from);
      if (name == "/") name = {};  // a division
      if (name == "within" || name == "across") name = {};
      if (!name.empty()) at_ = to;
    }
    const auto* unit = std::ranges::find(units, name, &Unit::name);
    if (unit == units.end()) fail("no unit: " + std::string(name));
    if (!take(" within")) take(" across");
    return {(n - half) * unit->size, (n + half) * unit->size, unit->dimension};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// "NAME = WORDS = EXPRESSION = RESULT; WHERE".
struct Line {
  std::string name;
  std::string words;
  std::string expression;  // the result if the line has no expression
  std::string result;
};

inline Line parse_line(std::string_view text) {
  text = text.substr(0, text.find("; "));
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(" = ", at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    at = end + 3;
  }
  if (parts.size() < 3 || parts.size() > 4)
    throw std::runtime_error("no name, words and result: " + std::string(text));
  return {parts[0], parts[1], parts[parts.size() - 2 + (parts.size() == 3 ? 1 : 0)], parts.back()};
}

}  // namespace stepscope::explain_test
