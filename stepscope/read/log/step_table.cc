// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/step_table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string>
#include <unordered_set>

#include "stepscope/base/ascii.h"
#include "stepscope/base/json_reader.h"
#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

// The best first. "step_ms" is a time, "step" is a number.
constexpr std::array<std::string_view, 9> names = {"step_time", "iteration_time", "iter_time",
                                                   "step",      "wall",           "wall_time",
                                                   "duration",  "elapsed",        "time"};
constexpr std::string_view needs_unit = "step";
constexpr std::size_t most_columns = 1000;  // of JSON, whose rows may have other keys each

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

NameAndUnit name_and_unit(std::string_view column) {
  const std::size_t mark = column.rfind('_');
  if (mark == std::string_view::npos) return {.name = column};
  const auto unit = time_unit(column.substr(mark + 1));
  return unit ? NameAndUnit{.name = column.substr(0, mark), .unit = unit}
              : NameAndUnit{.name = column};
}

std::optional<TimeColumn> time_column(std::string_view name) {
  const std::string lower = lower_case(bare(name));
  const NameAndUnit split = name_and_unit(lower);
  const auto found = std::ranges::find(names, split.name);
  if (found == names.end() || (split.name == needs_unit && !split.unit)) return std::nullopt;
  return TimeColumn{.preference = static_cast<std::size_t>(found - names.begin()),
                    .unit = split.unit};
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

namespace {

constexpr std::string_view json_table_hint =
    R"(write [{"step": 0, "step_time_ms": 100.1}], or {"step_time_ms": [100.1, 99.8]})";

// Without what separates cells.
void append_words(std::string& csv, std::string_view words) {
  for (const char c : words)
    csv += std::string_view(",\"\r\n").find(c) == std::string_view::npos ? c : ' ';
}

void append_cell(std::string& csv, const JsonValue* value) {
  if (value == nullptr) return;
  if (value->kind == JsonValue::Kind::integer || value->kind == JsonValue::Kind::number)
    append_number(csv, value->number);
  if (value->kind == JsonValue::Kind::text) append_words(csv, value->text);
}

void append_line(std::string& csv, const std::vector<std::string>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) csv += ',';
    append_words(csv, cells[i]);
  }
  csv += '\n';
}

}  // namespace

void append_number(std::string& text, double number) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  text.append(digits.data(), end);
}

Result<std::string> csv_of_json(std::string_view text, std::string_view path) {
  constexpr auto list = JsonValue::Kind::list;
  constexpr auto object = JsonValue::Kind::object;
  const auto json = parse_json(text, path);
  if (!json) return json.error();
  const auto wrong = [&](const JsonValue& at) {
    return Error{.what = "JSON that is no table of times",
                 .file = std::string(path),
                 .byte = at.byte,
                 .hint = std::string(json_table_hint)};
  };
  std::string csv;
  if (json->kind == list) {
    std::vector<std::string> columns;
    std::unordered_set<std::string_view> known;
    for (const JsonValue& row : json->items) {
      if (row.kind != object) return wrong(row);
      for (const std::string& key : row.keys)
        if (known.insert(key).second) columns.push_back(key);
      if (columns.size() > most_columns) return wrong(row);
    }
    append_line(csv, columns);
    for (const JsonValue& row : json->items) {
      for (std::size_t i = 0; i < columns.size(); ++i) {
        if (i > 0) csv += ',';
        append_cell(csv, row.find(columns[i]));
      }
      csv += '\n';
    }
    return csv;
  }
  if (json->kind != object || json->keys.size() > most_columns) return wrong(*json);
  append_line(csv, json->keys);
  std::size_t rows = 0;
  for (const JsonValue& column : json->items) {
    if (column.kind == object) return wrong(column);
    rows = std::max(rows, column.kind == list ? column.items.size() : 1);
  }
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < json->items.size(); ++i) {
      if (i > 0) csv += ',';
      const JsonValue& column = json->items[i];
      if (column.kind != list && row == 0) append_cell(csv, &column);
      if (column.kind == list && row < column.items.size()) append_cell(csv, &column.items[row]);
    }
    csv += '\n';
  }
  return csv;
}

std::vector<std::string_view> first_keys(std::string_view head) {
  std::vector<std::string_view> keys;
  const auto skip_blanks = [&] {
    while (!head.empty() && is_space(head.front())) head.remove_prefix(1);
  };
  const auto take = [&](char c) {
    skip_blanks();
    if (!head.starts_with(c)) return false;
    head.remove_prefix(1);
    return true;
  };
  (void)take('[');
  if (!take('{')) return {};
  do {
    if (!take('"')) return {};
    const std::size_t end = head.find('"');
    if (end == std::string_view::npos) return keys;
    const std::string_view key = head.substr(0, end);
    head.remove_prefix(end + 1);
    if (!take(':')) return {};
    keys.push_back(key);
    skip_blanks();
    if (head.starts_with('{')) return {};
    const bool is_list = head.starts_with('[');
    const bool is_text = head.starts_with('"');
    const std::size_t value = is_list   ? head.find(']')
                              : is_text ? head.find('"', 1)
                                        : head.find_first_of(",}");
    if (value == std::string_view::npos) return keys;
    if (is_list && head.substr(0, value).find_first_of("{\"") != std::string_view::npos) return {};
    head.remove_prefix(value + (is_list || is_text ? 1 : 0));
  } while (take(','));
  return keys;
}

}  // namespace stepscope
