// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/step_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <unordered_set>

#include "stepscope/base/ascii.h"
#include "stepscope/base/json_reader.h"
#include "stepscope/base/number_text.h"
#include "stepscope/event/job_log.h"
#include "stepscope/read/log/log_line.h"

namespace stepscope {
namespace {

// The best first. "step_ms" is a time, "step" is a number.
constexpr std::array<std::string_view, 9> names = {"step_time", "iteration_time", "iter_time",
                                                   "step",      "wall",           "wall_time",
                                                   "duration",  "elapsed",        "time"};
constexpr std::size_t of_steps = 4;  // the first ones
constexpr std::string_view needs_unit = "step";
constexpr std::size_t most_columns = 1000;  // of JSON, whose rows may have other keys each

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

std::string_view behind_rank(std::string_view line) {
  const std::size_t end = line.find(']');
  const bool of_launcher = line.starts_with("[rank") || line.starts_with("[default") ||
                           (line.size() > 1 && line.front() == '[' && is_digit(line[1]));
  if (!of_launcher || end == std::string_view::npos) return line;
  std::string_view rest = line.substr(end + 1);
  for (const std::string_view stream : {"<stdout>", "<stderr>"})
    if (rest.starts_with(stream)) rest.remove_prefix(stream.size());
  if (!rest.starts_with(':')) return line;
  rest.remove_prefix(1);
  if (rest.starts_with(' ')) rest.remove_prefix(1);
  return rest;
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
  const auto preference = static_cast<std::size_t>(found - names.begin());
  return TimeColumn{.preference = preference, .of_step = preference < of_steps, .unit = split.unit};
}

namespace {

// The unit that is printed behind a number: "0.5 s", "12 (seconds)", "60.0  # seconds"; no name of
// another value ("8 s=3").
std::optional<TimeUnit> printed_unit(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t([#"), text.size()));
  const std::string_view behind = text.substr(letters_of(text).size());
  const bool is_name = !behind.empty() && (is_word_letter(behind.front()) || behind.front() == '=');
  return is_name ? std::nullopt : unit_behind(text);
}

}  // namespace

std::optional<NamedStepTime> time_behind(std::string_view rest, std::optional<TimeUnit> unit,
                                         TimeUnit assumed) {
  if (rest.starts_with('"')) rest.remove_prefix(1);  // a line of JSON
  rest = trimmed(rest);
  if (rest.empty() || (rest.front() != '=' && rest.front() != ':')) return std::nullopt;
  rest = trimmed(rest.substr(1));
  const auto value = take_number<double>(rest);
  if (!value || !std::isfinite(*value)) return std::nullopt;
  if (!unit) unit = printed_unit(rest);
  return NamedStepTime{.ns = *value * ns_per(unit.value_or(assumed)), .unit_assumed = !unit};
}

// "step_time_ms=412", "step_time: 412 ms": the key begins a word, and a number follows.
std::optional<NamedStepTime> named_time(std::string_view line, TimeUnit assumed) {
  for (const std::string_view key : {names[0], names[1], names[2]})
    for (std::size_t at = line.find(key); at != std::string_view::npos;
         at = line.find(key, at + 1)) {
      if (at > 0 && is_word_letter(line[at - 1])) continue;
      std::size_t end = at + key.size();
      while (end < line.size() && is_word_letter(line[end])) ++end;
      const auto column = time_column(line.substr(at, end - at));
      if (!column) continue;
      if (const auto time = time_behind(line.substr(end), column->unit, assumed)) return time;
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

namespace {

// The rows and columns of a JSON table as they come. Rows in a list may add columns; cells that a
// row lacks at its end are absent.
class TableOfJson {
 public:
  explicit TableOfJson(std::string_view path) : path_(path) {}

  Result<Done> take(const JsonItem& item) {
    constexpr auto object = JsonValue::Kind::object;
    if (item.value != nullptr && item.key.empty() && !item.inner) {
      if (item.value->kind != object) return wrong(item);
      return row(item);
    }
    if (!item.inner) {
      keys_.emplace_back(item.key);
      columns_.emplace_back();
      if (keys_.size() > most_columns) return wrong(item);
    }
    if (item.value == nullptr) return Done{};
    if (!item.inner && item.value->kind == object) return wrong(item);
    append_cell(columns_.back().cells, item.value);
    columns_.back().cells += '\n';
    return counted(++columns_.back().rows, item);
  }
  std::string csv() {
    std::string csv;
    append_line(csv, keys_);
    if (columns_.empty()) return csv + rows_;
    std::size_t rows = 0;
    std::vector<std::string_view> rest;
    for (const Column& column : columns_) {
      rows = std::max(rows, column.rows);
      rest.emplace_back(column.cells);
    }
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t i = 0; i < rest.size(); ++i) {
        if (i > 0) csv += ',';
        const std::string_view cell = rest[i].substr(0, rest[i].find('\n'));
        csv += cell;
        rest[i].remove_prefix(std::min(cell.size() + 1, rest[i].size()));
      }
      csv += '\n';
    }
    return csv;
  }

 private:
  struct Column {
    std::string cells{};
    std::size_t rows = 0;
  };

  [[nodiscard]] Error wrong(const JsonItem& item) const {
    return {.what = "JSON that is no table of times",
            .file = std::string(path_),
            .byte = item.byte,
            .hint = std::string(json_table_hint)};
  }
  [[nodiscard]] Result<Done> counted(std::size_t rows, const JsonItem& item) const {
    if (rows <= most_log_steps) return Done{};
    return Error{.what = "has more than " + std::to_string(most_log_steps) + " steps",
                 .file = std::string(path_),
                 .byte = item.byte,
                 .hint = "give a part of the file"};
  }
  Result<Done> row(const JsonItem& item) {
    for (const std::string& key : item.value->keys)
      if (known_.insert(key).second) keys_.push_back(key);
    if (keys_.size() > most_columns) return wrong(item);
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (i > 0) rows_ += ',';
      append_cell(rows_, item.value->find(keys_[i]));
    }
    rows_ += '\n';
    return counted(++row_count_, item);
  }

  std::string_view path_;
  std::vector<std::string> keys_;
  std::unordered_set<std::string> known_;
  std::string rows_;
  std::size_t row_count_ = 0;
  std::vector<Column> columns_;  // of an object of lists
};

}  // namespace

Result<std::string> csv_of_json(ByteSource& source, std::string_view path) {
  TableOfJson table(path);
  const auto read =
      for_json_items(source, path, [&](const JsonItem& item) { return table.take(item); });
  if (!read) return read.error();
  return table.csv();
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
