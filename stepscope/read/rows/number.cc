// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/rows/number.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

std::string_view trimmed(const RawValue& value) {
  std::string_view text = value.text();
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n' || text.front() == '\t' ||
                           text.front() == '\r' || text.front() == '+'))
    text.remove_prefix(1);
  return text;
}

// The first eight bytes of [p, end), padded with zeros.
std::uint64_t load_word(const char* p, const char* end) {
  std::uint64_t word = 0;
  const auto size = static_cast<std::size_t>(end - p);
  if (size >= 8) {
    std::memcpy(&word, p, 8);
  } else if (size >= 4) {
    std::uint32_t tail = 0;
    std::memcpy(&word, p, 4);
    std::memcpy(&tail, end - 4, 4);
    word |= static_cast<std::uint64_t>(tail) << (size - 4) * 8;
  } else {
    for (std::size_t i = 0; i < size; ++i)
      word |= static_cast<std::uint64_t>(static_cast<unsigned char>(p[i])) << i * 8;
  }
  return word;
}

struct Digits {
  std::uint64_t value = 0;
  unsigned count = 0;
};

// Parses up to eight leading digits without a branch for each. They are moved to the word's upper
// end, so that zeros precede them, and summed in pairs, fours and eights.
Digits leading_digits(const char* p, const char* end) {
  const std::uint64_t word = load_word(p, end) ^ 0x3030303030303030ULL;
  const std::uint64_t other = (word | (word + 0x7676767676767676ULL)) & 0x8080808080808080ULL;
  const auto count = static_cast<unsigned>(std::countr_zero(other)) / 8;
  if (count == 0) return {};
  std::uint64_t v = word << (8 - count) * 8;
  v = v * 10 + (v >> 8);
  v = ((v & 0x000000FF000000FFULL) * 0x000F424000000064ULL +
       ((v >> 16) & 0x000000FF000000FFULL) * 0x0000271000000001ULL) >>
      32;
  return {v, count};
}

constexpr std::array<std::uint64_t, 9> powers_of_ten = {
    1, 10, 100, 1'000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000};

// Parses digits from p on; false without digits or if they exceed 2^64.
bool parse_digits(const char*& p, const char* end, std::uint64_t& value) {
  const Digits first = leading_digits(p, end);
  value = first.value;
  p += first.count;
  if (first.count < 8) return first.count > 0;
  const Digits second = leading_digits(p, end);
  value = value * powers_of_ten[second.count] + second.value;
  p += second.count;
  for (; p < end && is_digit(*p); ++p) {
    const auto digit = static_cast<std::uint64_t>(*p - '0');
    if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) return false;
    value = value * 10 + digit;
  }
  return true;
}

// Whether a number may end here: a scalar's text reaches to the next token.
bool ends_number(const char* p, const char* end) {
  return p == end || *p == ',' || *p == ' ' || *p == '\n' || *p == '\r' || *p == '\t' ||
         *p == ']' || *p == '}';
}

// "1.25e3" (µs) → ns with a single rounding at the end: the digits are kept and the point is moved.
std::optional<Ns> from_exponent(const char* p, const char* end, bool negative) {
  std::string digits;
  std::ptrdiff_t point = -1;
  for (; p < end && (is_digit(*p) || *p == '.'); ++p)
    if (*p == '.')
      point = static_cast<std::ptrdiff_t>(digits.size());
    else
      digits += *p;
  if (point < 0) point = static_cast<std::ptrdiff_t>(digits.size());
  ++p;  // the 'e'
  if (p < end && *p == '+') ++p;
  const auto front = number_at_front<int>({p, end});
  if (front.error != std::errc{} || !ends_number(front.rest.data(), end) || digits.empty())
    return std::nullopt;
  const std::size_t leading = digits.find_first_not_of('0');
  if (leading == std::string::npos) return Ns{0};
  const std::ptrdiff_t whole = point + front.value + 3;  // digits of the nanoseconds
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

bool read_microseconds(const RawValue& value, Ns& into) {
  const std::string_view text = trimmed(value);
  const char* p = text.data();
  const char* end = p + text.size();
  const bool negative = p < end && *p == '-';
  if (negative) ++p;
  const char* digits = p;
  std::uint64_t whole = 0;
  const bool leading_point = end - p > 1 && *p == '.' && is_digit(p[1]);
  if (!leading_point && !parse_digits(p, end, whole)) return false;
  std::uint64_t fraction = 0;
  bool round_up = false;
  if (p < end && *p == '.') {
    ++p;
    const Digits decimals = leading_digits(p, end);
    if (decimals.count <= 3) {
      fraction = decimals.value * powers_of_ten[3 - decimals.count];
    } else {
      const std::uint64_t below = powers_of_ten[decimals.count - 3];
      fraction = decimals.value / below;
      round_up = decimals.value % below * 10 / below >= 5;
    }
    for (p += decimals.count; p < end && is_digit(*p);) ++p;
  }
  if (p < end && (*p == 'e' || *p == 'E')) {
    const auto time = from_exponent(digits, end, negative);
    if (time) into = *time;
    return time.has_value();
  }
  if (!ends_number(p, end)) return false;
  if (whole > 9'223'372'036'854'774ULL) return false;
  const auto ns = static_cast<std::int64_t>(whole * 1000 + fraction + (round_up ? 1 : 0));
  into = Ns{negative ? -ns : ns};
  return true;
}

bool read_integer(const RawValue& value, std::int64_t& into) {
  const auto set = [&](std::uint64_t bits) {
    into = static_cast<std::int64_t>(bits);
    return true;
  };
  // Nearly all numbers are plain digits; others take the cases below.
  const char* p = value.at;
  if (std::uint64_t v = 0;
      parse_digits(p, value.at + value.size, v) && ends_number(p, value.at + value.size))
    return set(v);
  const std::string_view text = trimmed(value);
  p = text.data();
  const char* end = p + text.size();
  if (text.starts_with("0x") || text.starts_with("0X")) {
    const auto v = leading_number<std::uint64_t>(text.substr(2), 16);
    return v && set(*v);
  }
  if (text.starts_with("true") || text.starts_with("True")) return set(1);
  if (text.starts_with("false") || text.starts_with("False")) return set(0);
  const bool negative = p < end && *p == '-';
  if (negative) ++p;
  std::uint64_t v = 0;
  if (!parse_digits(p, end, v)) return false;
  if (p < end && (*p == 'e' || *p == 'E')) {
    const auto real = parse_real(value);
    if (!real || std::abs(*real) >= 9.2e18) return false;
    return set(static_cast<std::uint64_t>(static_cast<std::int64_t>(*real)));
  }
  if (negative && v > 1ULL << 63) return false;
  return set(negative ? 0 - v : v);
}

std::optional<double> parse_real(const RawValue& value) {
  const auto v = leading_number<double>(trimmed(value));
  return v && std::isfinite(*v) ? v : std::nullopt;
}

}  // namespace stepscope
