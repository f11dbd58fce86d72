// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/step_table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

constexpr std::array<std::string_view, 8> names = {
    "step_time", "iteration_time", "iter_time", "wall", "wall_time", "duration", "elapsed", "time"};

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

bool StepLines::next(std::string_view& line) {
  if (rest_.empty()) return false;
  const std::size_t end = std::min(rest_.find_first_of("\r\n"), rest_.size());
  line = rest_.substr(0, end);
  rest_.remove_prefix(end);
  if (rest_.starts_with("\r\n"))
    rest_.remove_prefix(2);
  else if (!rest_.empty())
    rest_.remove_prefix(1);
  ++number_;
  return true;
}

std::string_view bare(std::string_view cell) {
  cell = trimmed(cell);
  if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"')
    cell = trimmed(cell.substr(1, cell.size() - 2));
  return cell;
}

std::optional<double> number_in(std::string_view cell) {
  cell = bare(cell);
  if (cell.starts_with('+')) cell.remove_prefix(1);
  const auto value = number_of<double>(cell);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

void split_cells(std::string_view line, char separator, std::vector<std::string_view>& cells) {
  cells.clear();
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') quoted = !quoted;
    if (line[i] != separator || quoted) continue;
    cells.push_back(line.substr(begin, i - begin));
    begin = i + 1;
  }
  cells.push_back(line.substr(begin));
}

char separator_of(std::string_view line) {
  for (const char c : {'\t', ';'})
    if (line.find(c) != std::string_view::npos) return c;
  return ',';
}

std::optional<TimeColumn> time_column(std::string_view name) {
  const std::string lower = lower_case(bare(name));
  const std::string_view text = lower;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!text.starts_with(names[i])) continue;
    const std::string_view rest = text.substr(names[i].size());
    if (rest.empty()) return TimeColumn{.preference = i, .unit = std::nullopt};
    if (!rest.starts_with('_')) continue;
    if (const auto unit = time_unit(rest.substr(1)))
      return TimeColumn{.preference = i, .unit = unit};
  }
  return std::nullopt;
}

// "step_time_ms=412", "step_time: 412": the key begins a word, and a number follows.
std::optional<double> named_time(std::string_view line, TimeUnit assumed) {
  for (const std::string_view key : {names[0], names[1], names[2]})
    for (std::size_t at = line.find(key); at != std::string_view::npos;
         at = line.find(key, at + 1)) {
      if (at > 0 && is_word(line[at - 1])) continue;
      std::size_t end = at + key.size();
      while (end < line.size() && is_word(line[end])) ++end;
      const auto column = time_column(line.substr(at, end - at));
      std::string_view rest = line.substr(end);
      if (rest.starts_with('"')) rest.remove_prefix(1);  // a line of JSON
      rest = trimmed(rest);
      if (!column || rest.empty() || (rest.front() != '=' && rest.front() != ':')) continue;
      const auto value = leading_number<double>(trimmed(rest.substr(1)));
      if (value && std::isfinite(*value)) return *value * ns_per(column->unit.value_or(assumed));
    }
  return std::nullopt;
}

}  // namespace stepscope
