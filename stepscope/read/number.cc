// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/number.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

namespace stepscope {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view trimmed(const RawValue& value) {
  std::string_view text = value.text();
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n' || text.front() == '\t' ||
                           text.front() == '\r' || text.front() == '+'))
    text.remove_prefix(1);
  return text;
}

// Eight ASCII digits at once, or false.
bool eight_digits(const char* p, std::uint64_t& value) {
  std::uint64_t word = 0;
  std::memcpy(&word, p, 8);
  const std::uint64_t digits = word - 0x3030303030303030ULL;
  if (((word + 0x4646464646464646ULL) | digits) & 0x8080808080808080ULL) return false;
  std::uint64_t v = digits * 10 + (digits >> 8);
  v = ((v & 0x000000FF000000FFULL) * 0x000F424000000064ULL +
       ((v >> 16) & 0x000000FF000000FFULL) * 0x0000271000000001ULL) >>
      32;
  value = v;
  return true;
}

// Digits from p on; false when there is none or they pass 2^64.
bool parse_digits(const char*& p, const char* end, std::uint64_t& value) {
  const char* begin = p;
  std::uint64_t v = 0;
  if (std::uint64_t block = 0; end - p >= 8 && eight_digits(p, block)) {
    v = block;
    p += 8;
  }
  constexpr std::ptrdiff_t always_fit = 19;
  const char* unchecked = end - begin > always_fit ? begin + always_fit : end;
  for (; p < unchecked && is_digit(*p); ++p) v = v * 10 + static_cast<std::uint64_t>(*p - '0');
  for (; p < end && is_digit(*p); ++p) {
    const auto digit = static_cast<std::uint64_t>(*p - '0');
    if (v > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) return false;
    v = v * 10 + digit;
  }
  value = v;
  return p != begin;
}

// What may stand behind a number: a scalar's text reaches to the next token.
bool ends_number(const char* p, const char* end) {
  return p == end || *p == ',' || *p == ' ' || *p == '\n' || *p == '\r' || *p == '\t' ||
         *p == ']' || *p == '}';
}

// "1.25e3" (µs) → ns without rounding but the last: the digits are kept and the point is moved.
std::optional<Ns> from_exponent(const char* p, const char* end, bool negative) {
  std::string digits;
  std::ptrdiff_t point = -1;
  for (; p < end && (is_digit(*p) || *p == '.'); ++p)
    if (*p == '.')
      point = static_cast<std::ptrdiff_t>(digits.size());
    else
      digits += *p;
  if (point < 0) point = static_cast<std::ptrdiff_t>(digits.size());
  int exponent = 0;
  ++p;  // the 'e'
  if (p < end && *p == '+') ++p;
  const auto [at, error] = std::from_chars(p, end, exponent);
  if (error != std::errc{} || !ends_number(at, end) || digits.empty()) return std::nullopt;
  const std::size_t leading = digits.find_first_not_of('0');
  if (leading == std::string::npos) return Ns{0};
  const std::ptrdiff_t whole = point + exponent + 3;  // digits of the nanoseconds
  if (whole < 0) return Ns{0};
  if (whole - static_cast<std::ptrdiff_t>(leading) > 18) return std::nullopt;  // beyond 10^18
  std::int64_t ns = 0;
  for (std::ptrdiff_t i = 0; i < whole; ++i) {
    const auto place = static_cast<std::size_t>(i);
    ns = ns * 10 + (place < digits.size() ? digits[place] - '0' : 0);
  }
  const auto next = static_cast<std::size_t>(whole);
  if (next < digits.size() && digits[next] >= '5') ++ns;
  return Ns{negative ? -ns : ns};
}

}  // namespace

std::optional<Ns> parse_microseconds(const RawValue& value) {
  const std::string_view text = trimmed(value);
  const char* p = text.data();
  const char* end = p + text.size();
  const bool negative = p < end && *p == '-';
  if (negative) ++p;
  const char* digits = p;
  std::uint64_t whole = 0;
  const bool leading_point = end - p > 1 && *p == '.' && is_digit(p[1]);
  if (!leading_point && !parse_digits(p, end, whole)) return std::nullopt;
  std::uint64_t fraction = 0;
  bool round_up = false;
  if (p < end && *p == '.') {
    ++p;
    std::uint64_t scale = 100;
    for (; p < end && is_digit(*p); ++p, scale /= 10) {
      const auto digit = static_cast<std::uint64_t>(*p - '0');
      if (scale > 0) {
        fraction += digit * scale;
      } else {
        round_up = digit >= 5;
        while (p < end && is_digit(*p)) ++p;
        break;
      }
    }
  }
  if (p < end && (*p == 'e' || *p == 'E')) return from_exponent(digits, end, negative);
  if (!ends_number(p, end)) return std::nullopt;
  if (whole > 9'223'372'036'854'774ULL) return std::nullopt;
  const auto ns = static_cast<std::int64_t>(whole * 1000 + fraction + (round_up ? 1 : 0));
  return Ns{negative ? -ns : ns};
}

std::optional<std::int64_t> parse_integer(const RawValue& value) {
  // Nearly all are plain digits; only what is not goes through the cases below.
  const char* p = value.at;
  if (std::uint64_t v = 0;
      parse_digits(p, value.at + value.size, v) && ends_number(p, value.at + value.size))
    return static_cast<std::int64_t>(v);
  const std::string_view text = trimmed(value);
  p = text.data();
  const char* end = p + text.size();
  if (text.starts_with("0x") || text.starts_with("0X")) {
    std::uint64_t v = 0;
    const auto [at, error] = std::from_chars(p + 2, end, v, 16);
    if (error != std::errc{} || at == p + 2) return std::nullopt;
    return static_cast<std::int64_t>(v);
  }
  if (text.starts_with("true") || text.starts_with("True")) return 1;
  if (text.starts_with("false") || text.starts_with("False")) return 0;
  const bool negative = p < end && *p == '-';
  if (negative) ++p;
  std::uint64_t v = 0;
  if (!parse_digits(p, end, v)) return std::nullopt;
  if (p < end && (*p == 'e' || *p == 'E')) {
    const auto real = parse_real(value);
    if (!real || std::abs(*real) >= 9.2e18) return std::nullopt;
    return static_cast<std::int64_t>(*real);
  }
  if (negative && v > 1ULL << 63) return std::nullopt;
  return static_cast<std::int64_t>(negative ? 0 - v : v);
}

std::optional<double> parse_real(const RawValue& value) {
  const std::string_view text = trimmed(value);
  double v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc{} || !std::isfinite(v)) return std::nullopt;
  return v;
}

}  // namespace stepscope
