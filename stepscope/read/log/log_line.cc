// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/log_line.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cmath>

#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

// Whether `rest` of `text` begins with a comma between thousands: "2,793".
bool separates(std::string_view text, std::string_view rest) {
  return rest.size() > 3 && rest.size() < text.size() && rest.front() == ',' &&
         is_digit(rest.data()[-1]) && std::ranges::all_of(rest.substr(1, 3), is_digit);
}

// Takes a number, perhaps with a sign and with commas between its thousands.
std::optional<double> take_amount(std::string_view& text) {
  std::string_view rest = text.substr(text.starts_with('+') ? 1 : 0);
  const std::string_view bare = rest.substr(rest.starts_with('-') ? 1 : 0);
  if (bare.empty() || (!is_digit(bare.front()) && bare.front() != '.')) return std::nullopt;
  const std::string_view whole = rest;
  auto value = take_number<double>(rest);
  if (value && separates(text, rest)) {
    std::string plain(whole.substr(0, whole.size() - rest.size()));
    for (; separates(text, rest); rest.remove_prefix(4)) plain += rest.substr(1, 3);
    plain += rest;
    std::string_view left = plain;
    value = take_number<double>(left);
    rest = text.substr(text.size() - left.size());
  }
  if (value) text = rest;
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
  text.remove_prefix(at);
  const auto rank = take_number<std::int32_t>(text);
  return rank && *rank >= 0 && text.starts_with(']') ? rank : std::nullopt;
}

}  // namespace

std::optional<double> clean_number(std::string_view text) {
  text = trimmed(text);
  if (text == "nan" || text == "NaN" || text == "-nan") return std::nan("");
  if (text == "inf" || text == "Infinity") return HUGE_VAL;
  if (text == "-inf") return -HUGE_VAL;
  const auto value = take_amount(text);
  const bool whole =
      text.empty() || is_blank(text.front()) || text.front() == '(' || text.front() == '%';
  return whole ? value : std::nullopt;
}

std::optional<std::int64_t> clean_integer(std::string_view text) {
  return number_of<std::int64_t>(trimmed(text));
}

std::optional<double> clean_number_behind(std::string_view text, std::string_view key,
                                          std::string_view ends) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(at + key.size());
  while (!rest.empty() && is_blank(rest.front())) rest.remove_prefix(1);
  return clean_number(rest.substr(0, rest.find_first_of(ends)));
}

NamedNumber named_number(std::string_view field) {
  for (std::size_t at = field.size(); at > 1; --at)
    if (field[at - 1] == ' ' && field[at - 2] == ':')
      return {trimmed(field.substr(0, at - 2)), clean_number(field.substr(at))};
  return {};
}

bool take_field(std::optional<std::string_view>& line, std::string_view& field) {
  if (!line) return false;
  const std::size_t bar = line->find('|');
  field = trimmed(line->substr(0, bar));
  if (bar == std::string_view::npos)
    line.reset();
  else
    line->remove_prefix(bar + 1);
  return true;
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
  std::string_view rest = front.substr(std::min(front.find_first_not_of(' '), front.size()));
  const auto rank = take_number<std::int32_t>(rest);
  return rank && *rank >= 0 && rest.starts_with(": ") ? *rank : -1;
}

std::optional<Ns> stamp_of_line(std::string_view text) {
  const std::string_view front = text.substr(0, 200);
  for (std::size_t at = front.find('-'); at != std::string_view::npos; at = front.find('-', at + 1))
    if (at >= 4 && at + 14 < front.size())
      if (const auto stamp = stamp_at(text, at - 4)) return stamp;
  return std::nullopt;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

std::int32_t epoch_of_line(std::string_view text) {
  constexpr std::string_view key = "poch";
  constexpr std::int32_t most = 1'000'000;
  for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    if (at == 0 || (text[at - 1] != 'e' && text[at - 1] != 'E')) continue;
    std::string_view rest = text.substr(at + key.size());
    if (rest.starts_with("s")) rest.remove_prefix(1);
    if (rest.starts_with('(')) rest.remove_prefix(std::min(rest.find(')') + 1, rest.size()));
    rest.remove_prefix(std::min(rest.find_first_not_of(" :=[#\"'"), rest.size()));
    const auto epoch = take_number<std::int32_t>(rest);
    const bool fraction = rest.size() > 1 && rest.front() == '.' && is_digit(rest[1]);
    if (epoch && !fraction && *epoch >= 0 && *epoch <= most) return *epoch;
  }
  return -1;
}

std::optional<NumberAndUnit> number_and_unit(std::string_view text) {
  text = trimmed(text);
  const auto value = take_amount(text);
  if (!value) return std::nullopt;
  return NumberAndUnit{*value, trimmed(text)};
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
    log.timers.push_back({.name = std::string(name), .tool = &tool});
    found = log.timers.end() - 1;
  }
  found->ms.push_back(ms);
  found->records.push_back(static_cast<std::uint32_t>(log.records.size()));
}

}  // namespace stepscope
