// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/log_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>

namespace stepscope {
namespace {

// A fast path for most numbers: digits, perhaps a point and an exponent. With up to 15 digits and
// 22 places the number is the quotient or product of a whole number and a power of ten that are
// exact as doubles, so the result is the nearest double. nullopt: use the general path.
std::optional<double> plain_decimal(std::string_view text, std::size_t& used) {
  constexpr std::array<double, 23> powers = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                             1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                             1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const char* p = begin;
  const bool negative = p != end && *p == '-';
  if (negative) ++p;
  std::uint64_t digits = 0;
  const char* const first = p;
  for (; p != end && is_digit(*p); ++p) digits = digits * 10 + static_cast<unsigned>(*p - '0');
  std::ptrdiff_t count = p - first;
  if (count == 0) return std::nullopt;
  int exponent = 0;
  if (p != end && *p == '.') {
    const char* const point = ++p;
    for (; p != end && is_digit(*p); ++p) digits = digits * 10 + static_cast<unsigned>(*p - '0');
    exponent = static_cast<int>(point - p);
    count += p - point;
  }
  if (count > 15) return std::nullopt;
  if (end - p > 3 && (*p == 'e' || *p == 'E') && (p[1] == '-' || p[1] == '+') && is_digit(p[2]) &&
      is_digit(p[3])) {
    const int places = (p[2] - '0') * 10 + (p[3] - '0');
    exponent += p[1] == '-' ? -places : places;
    p += 4;
  }
  if (p != end &&
      (is_digit(*p) || *p == ',' || *p == '.' || *p == '-' || *p == '+' || *p == 'e' || *p == 'E'))
    return std::nullopt;
  if (exponent < -22 || exponent > 22) return std::nullopt;
  const auto whole = static_cast<double>(digits);
  const double value = exponent < 0 ? whole / powers[static_cast<std::size_t>(-exponent)]
                                    : whole * powers[static_cast<std::size_t>(exponent)];
  used = static_cast<std::size_t>(p - begin);
  return negative ? -value : value;
}

// Numbers with commas between digits ("2,793") are copied; others are read in place.
std::optional<double> leading(std::string_view text, std::size_t& used) {
  if (const auto plain = plain_decimal(text, used)) return plain;
  std::array<char, 64> room{};
  std::size_t length = 0;
  used = 0;
  bool commas = false;
  for (const char c : text) {
    const bool comma = c == ',' && length > 0 && is_digit(text[used - 1]) &&
                       used + 3 < text.size() && is_digit(text[used + 1]) &&
                       is_digit(text[used + 2]) && is_digit(text[used + 3]);
    const bool part = is_digit(c) || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
    if (!part && !comma) break;
    if (length + 1 >= room.size()) return std::nullopt;
    if (!comma) room[length++] = c;
    commas = commas || comma;
    ++used;
  }
  const char* begin = room.data();
  if (length > 0 && *begin == '+') ++begin;
  double value = 0;
  const char* const end = room.data() + length;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error != std::errc()) return std::nullopt;
  // "1.20e" in "1.20examples" is a number and a unit.
  used -= static_cast<std::size_t>(end - stop);
  if (commas && stop != end) return std::nullopt;
  return value;
}

std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  int value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (i >= text.size() || !is_digit(text[i])) return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

// "2026-01-01 12:00:00" with an optional fraction, at `at`.
std::optional<Ns> stamp_at(std::string_view text, std::size_t at) {
  const auto year = digits(text, at, 4);
  const auto month = digits(text, at + 5, 2);
  const auto day = digits(text, at + 8, 2);
  const auto hour = digits(text, at + 11, 2);
  const auto minute = digits(text, at + 14, 2);
  const auto second = digits(text, at + 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  if (text[at + 4] != '-' || text[at + 7] != '-' || text[at + 13] != ':' || text[at + 16] != ':' ||
      (text[at + 10] != ' ' && text[at + 10] != 'T'))
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *year < 1970 || *year > 2200 || *hour > 23 || *minute > 59 || *second > 60)
    return std::nullopt;
  Ns fraction{0};
  std::size_t i = at + 19;
  if (i < text.size() && (text[i] == '.' || text[i] == ','))
    for (Ns unit{100'000'000}; i + 1 < text.size() && is_digit(text[i + 1]); unit /= 10)
      fraction += unit * (text[++i] - '0');
  return std::chrono::sys_days(date).time_since_epoch() + std::chrono::hours(*hour) +
         std::chrono::minutes(*minute) + std::chrono::seconds(*second) + fraction;
}

std::optional<std::int32_t> rank_behind(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] == ' ') ++at;
  std::int32_t rank = 0;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), rank);
  if (error != std::errc() || rank < 0 || end == text.data() + text.size() || *end != ']')
    return std::nullopt;
  return rank;
}

}  // namespace

std::optional<double> clean_number(std::string_view text) {
  text = trimmed(text);
  if (text == "nan" || text == "NaN") return std::nan("");
  if (text == "inf" || text == "Infinity") return HUGE_VAL;
  if (text == "-inf") return -HUGE_VAL;
  std::size_t used = 0;
  const auto value = leading(text, used);
  if (!value) return std::nullopt;
  const std::string_view rest = text.substr(used);
  if (!rest.empty() && !is_blank(rest.front()) && rest.front() != '(' && rest.front() != '%')
    return std::nullopt;
  return value;
}

std::optional<std::int64_t> clean_integer(std::string_view text) {
  text = trimmed(text);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> clean_number_behind(std::string_view text, std::string_view key,
                                          std::string_view ends) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(at + key.size());
  while (!rest.empty() && is_blank(rest.front())) rest.remove_prefix(1);
  return clean_number(rest.substr(0, rest.find_first_of(ends)));
}

void set_loss(LogRecord& record, std::optional<double> loss) {
  record.loss = loss;
  if (loss && !std::isfinite(*loss)) record.not_finite = std::max(record.not_finite, 1);
}

std::int32_t rank_of_line(std::string_view text) {
  const std::string_view front = text.substr(0, 160);
  for (std::size_t at = front.find('['); at != std::string_view::npos; at = front.find('[', at + 1))
    for (const std::string_view key : {"[rank", "[Rank", "[default"})
      if (front.substr(at).starts_with(key))
        if (const auto rank = rank_behind(front, at + key.size())) return *rank;
  // "3: " from srun --label.
  std::int32_t rank = 0;
  const std::size_t first = std::min(front.find_first_not_of(' '), front.size());
  const auto [end, error] =
      std::from_chars(front.data() + first, front.data() + front.size(), rank);
  const std::size_t behind = static_cast<std::size_t>(end - front.data());
  if (error == std::errc() && rank >= 0 && front.substr(behind).starts_with(": ")) return rank;
  return -1;
}

std::optional<Ns> stamp_of_line(std::string_view text) {
  const std::string_view front = text.substr(0, 200);
  for (std::size_t at = front.find('-'); at != std::string_view::npos; at = front.find('-', at + 1))
    if (at >= 4 && at + 14 < front.size())
      if (const auto stamp = stamp_at(text, at - 4)) return stamp;
  return std::nullopt;
}

std::optional<NumberAndUnit> number_and_unit(std::string_view text) {
  text = trimmed(text);
  std::size_t used = 0;
  const auto value = leading(text, used);
  if (!value) return std::nullopt;
  return NumberAndUnit{*value, trimmed(text.substr(used))};
}

namespace {

std::size_t place_of(const JobLog& log, const LogTool& tool) {
  const auto found = std::ranges::find(log.tools, &tool, &LogToolLines::tool);
  check(found != log.tools.end(), "a log's tool is one of log_dialects()");
  return static_cast<std::size_t>(found - log.tools.begin());
}

}  // namespace

void count_line(JobLog& log, const LogTool& tool) { ++log.tools[place_of(log, tool)].lines; }

LogRecord& LogState::add(const LogTool& tool, const LogLine& line) {
  const std::size_t place = place_of(log, tool);
  LogRecord record;
  record.tool = &tool;
  record.rank = line.rank;
  record.launch = launch;
  record.evaluated = evaluated[place];
  record.saved = saved[place];
  evaluated.reset(place);
  saved.reset(place);
  log.records.push_back(record);
  return log.records.back();
}

void LogState::begin_launch() {
  if (log.records.size() == records_at_launch) return;
  ++launch;
  records_at_launch = log.records.size();
}

void LogState::time(const LogTool& tool, std::string_view name, double ms) {
  if (!(ms >= 0 && ms <= most_amount)) return note("fields_not_understood");
  constexpr std::size_t most_timers = 1000;
  auto found = std::ranges::find_if(
      log.timers, [&](const LogTimer& t) { return t.tool == &tool && t.name == name; });
  if (found == log.timers.end()) {
    if (log.timers.size() == most_timers) return note("timers_beyond_1000");
    log.timers.push_back({.name = std::string(name), .tool = &tool, .ms = {}});
    found = log.timers.end() - 1;
  }
  found->ms.push_back(ms);
}

}  // namespace stepscope
