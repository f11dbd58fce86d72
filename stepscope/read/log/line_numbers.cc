// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/line_numbers.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/log/log_line.h"

namespace stepscope {
namespace {

constexpr std::size_t most_numbers = 64;  // of a line

char at_or_blank(std::string_view text, std::size_t at) {
  return at < text.size() ? text[at] : ' ';
}

// Whether c joins two numbers to something else: "12:30", "2026-01-02", "10.0.0.1".
bool joins(std::string_view line, std::size_t at) {
  const char c = at_or_blank(line, at);
  return (c == ':' || c == '-' || c == '.') && at > 0 && is_digit(line[at - 1]) &&
         is_digit(at_or_blank(line, at + 1));
}

// Where the number at `at` begins with its sign. A sign behind a letter joins words.
std::size_t with_sign(std::string_view line, std::size_t at) {
  if (at == 0 || (line[at - 1] != '-' && line[at - 1] != '+')) return at;
  const bool joined = at > 1 && (is_word_letter(line[at - 2]) || line[at - 2] == line[at - 1] ||
                                 line[at - 2] == ']' || line[at - 2] == ')');
  return joined ? at : at - 1;
}

// A unit directly behind a number, as "ms" or "samples/s", where more words follow.
std::string_view without_unit(std::string_view text) {
  const std::size_t end = text.find_first_of(" \t", text.starts_with(' ') ? 1 : 0);
  if (end == std::string_view::npos) return text;
  const std::string_view word = trimmed(text.substr(0, end));
  const bool more = std::ranges::any_of(text.substr(end), is_word_letter);
  return more && (contains(word, "/s") || unit_behind(word)) ? text.substr(end) : text;
}

// "12:30:05.250" at `at`, since midnight.
std::optional<Ns> clock_at(std::string_view line, std::size_t at) {
  std::array<int, 3> parts{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t from = at + 3 * i;
    if (!is_digit(at_or_blank(line, from)) || !is_digit(at_or_blank(line, from + 1)))
      return std::nullopt;
    if (i > 0 && line[from - 1] != ':') return std::nullopt;
    parts[i] = (line[from] - '0') * 10 + (line[from + 1] - '0');
  }
  if (parts[0] > 23 || parts[1] > 59 || parts[2] > 60) return std::nullopt;
  Ns fraction{0};
  std::size_t i = at + 8;
  if (at_or_blank(line, i) == '.' || at_or_blank(line, i) == ',')
    for (Ns unit{100'000'000}; is_digit(at_or_blank(line, i + 1)); unit /= 10)
      fraction += unit * (line[++i] - '0');
  return std::chrono::hours(parts[0]) + std::chrono::minutes(parts[1]) +
         std::chrono::seconds(parts[2]) + fraction;
}

// "a.step" and "a:step" are places in a source.
bool begins_word(std::string_view line, std::size_t at) {
  if (at == 0) return true;
  const char before = line[at - 1];
  if (is_word_letter(before)) return false;
  const bool of_place = before == '.' || before == ':';
  return !of_place || at < 2 || !is_word_letter(line[at - 2]);
}

struct CountedStep {
  std::int64_t number = 0;
  bool of_all = false;  // "12/500"
};

std::optional<CountedStep> step_behind(std::string_view line, std::size_t end) {
  constexpr std::int64_t most = 1'000'000'000'000'000;
  const std::size_t from = line.find_first_not_of(" :=\"#[", end);
  if (from == end || from == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(from);
  const auto number = take_number<std::int64_t>(rest);
  if (!number || *number < 0 || *number > most || rest.find_first_of(".eE") == 0)
    return std::nullopt;
  if (!rest.starts_with('/')) return CountedStep{.number = *number};
  const auto all = leading_number<std::int64_t>(rest.substr(1));
  return CountedStep{.number = *number, .of_all = all && *all > 0 && *all >= *number};
}

// The number behind a name; one with "/M" goes over others.
std::optional<std::int64_t> number_named(std::string_view line, std::string_view name) {
  std::optional<std::int64_t> first;
  for (std::size_t at = line.find(name); at != std::string_view::npos;
       at = line.find(name, at + 1)) {
    if (!begins_word(line, at)) continue;
    const auto step = step_behind(line, at + name.size());
    if (step && step->of_all) return step->number;
    if (!first && step) first = step->number;
  }
  return first;
}

}  // namespace

std::vector<LineNumber> numbers_of_line(std::string_view line) {
  std::vector<LineNumber> numbers;
  std::size_t at = 0;
  while (at < line.size() && numbers.size() < most_numbers) {
    if (!is_digit(line[at]) || (at > 0 && is_word_letter(line[at - 1]))) {
      ++at;
      continue;
    }
    std::string_view rest = line.substr(at);
    const auto value = take_number<double>(rest);
    if (!value) {
      ++at;
      continue;
    }
    const std::size_t end = line.size() - rest.size();
    LineNumber number{.begin = with_sign(line, at), .end = end, .value = *value};
    if (line[number.begin] == '-') number.value = -number.value;
    const std::string_view text = line.substr(number.begin, end - number.begin);
    number.whole = std::ranges::all_of(text, is_digit) && text.size() < 16;
    number.part_of_clock = joins(line, end) || (at > 0 && joins(line, at - 1));
    numbers.push_back(number);
    at = std::max(end, at + 1);
  }
  return numbers;
}

std::string one_blank(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (!is_blank(c) || out.empty() || out.back() != ' ') out += is_blank(c) ? ' ' : c;
  return out;
}

std::string kind_of_line(std::string_view line, std::span<const LineNumber> numbers) {
  std::string kind;
  std::size_t from = 0;
  for (const LineNumber& number : numbers) {
    kind += one_blank(line.substr(from, number.begin - from));
    while (kind.ends_with(' ')) kind.pop_back();
    kind += '#';
    from = number.end;
  }
  // Numbers behind the last one that is kept.
  for (const char c : one_blank(line.substr(from)))
    if (!is_digit(c))
      kind += c;
    else if (!kind.ends_with('#'))
      kind += '#';
  return kind;
}

std::string_view text_before(std::string_view line, std::span<const LineNumber> numbers,
                             std::size_t i) {
  const std::size_t from = i == 0 ? 0 : numbers[i - 1].end;
  return line.substr(from, numbers[i].begin - from);
}

std::string name_of_number(std::string_view line, std::span<const LineNumber> numbers,
                           std::size_t i) {
  std::string_view name = text_before(line, numbers, i);
  if (i > 0) name = without_unit(name);
  const std::size_t last = name.find_last_not_of(" \t=:([");
  const std::string_view words = name.substr(0, last == std::string_view::npos ? 0 : last + 1);
  std::size_t from = 0;
  for (const std::string_view mark : {",", ";", "|", "\t", "  "})
    if (const std::size_t at = words.rfind(mark); at != std::string_view::npos)
      from = std::max(from, at + mark.size());
  return lower_case(name.substr(from));
}

bool has_any_word(std::string_view name, std::initializer_list<std::string_view> words) {
  std::size_t begin = 0;
  while (begin < name.size()) {
    std::size_t end = begin;
    while (end < name.size() && is_alphanumeric(name[end])) ++end;
    if (std::ranges::find(words, name.substr(begin, end - begin)) != words.end()) return true;
    begin = end + 1;
  }
  return false;
}

std::optional<TimeUnit> unit_in_name(std::string_view name) {
  if (contains_any(name, {"_ms", "(ms)", "ms:", "msec"})) return TimeUnit::ms;
  if (contains_any(name, {"_us", "(us)"})) return TimeUnit::us;
  if (contains_any(name, {"_ns", "(ns)"})) return TimeUnit::ns;
  if (contains_any(name, {"_s ", "_s=", "_s:", "(s)", "sec"})) return TimeUnit::s;
  return std::nullopt;
}

std::optional<Ns> instant_of_line(std::string_view line) {
  if (const auto stamp = stamp_of_line(line)) return stamp;
  constexpr std::size_t near = 40;
  for (std::size_t at = 0; at < std::min(near, line.size()); ++at) {
    const bool within = at > 1 && line[at - 1] == ':' && is_digit(line[at - 2]);
    if (!is_digit(line[at]) || within || (at > 0 && is_word_letter(line[at - 1]))) continue;
    const auto clock = clock_at(line, at);
    if (!clock) continue;
    const std::string before = lower_case(line.substr(0, at));
    const bool other = has_any_word(before, {"eta", "left"}) ||
                       contains_any(before, {"elapsed", "remain", "time"});
    return other ? std::nullopt : clock;
  }
  return std::nullopt;
}

std::int64_t number_of_step(std::string_view line) {
  constexpr std::array<std::string_view, 9> names = {"global_step", "train_step", "current_step",
                                                     "step",        "Step",       "iteration",
                                                     "Iteration",   "iter",       "Iter"};
  for (const std::string_view name : names)
    if (const auto number = number_named(line, name)) return *number;
  return -1;
}

}  // namespace stepscope
