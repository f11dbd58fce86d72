// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nccl/size_time_table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "stepscope/base/ascii.h"
#include "stepscope/base/byte_size.h"
#include "stepscope/base/files/text_source.h"
#include "stepscope/base/json_reader.h"
#include "stepscope/read/log/log_line.h"
#include "stepscope/read/log/step_table.h"

namespace stepscope {
namespace {

constexpr std::size_t table_head = 4096;        // decides whether a text is a table
constexpr std::size_t longest_table = 8 << 20;  // of pairs

struct SizeUnit {
  std::string_view suffix;
  double bytes;
};
constexpr std::array<SizeUnit, 8> size_units = {{{"_bytes", 1},
                                                 {"_b", 1},
                                                 {"_kb", 1e3},
                                                 {"_mb", 1e6},
                                                 {"_gb", 1e9},
                                                 {"_kib", 1024},
                                                 {"_mib", 1048576},
                                                 {"_gib", 1073741824}}};

// Bytes of one unit of a column of sizes; absent for other columns.
std::optional<double> size_column(std::string_view name) {
  constexpr std::array<std::string_view, 8> names = {
      "size", "sizes", "bytes", "nbytes", "message_size", "message", "msg_size", "n_bytes"};
  const std::string lower = lower_case(name);
  std::string_view text = lower;
  double unit = 1;
  for (const SizeUnit& u : size_units)
    if (text.ends_with(u.suffix) && text != "n_bytes") {
      text.remove_suffix(u.suffix.size());
      unit = u.bytes;
      break;
    }
  return std::ranges::find(names, text) == names.end() ? std::nullopt : std::optional(unit);
}

// The unit of a column of times, absent without one in its name; nothing for other columns.
std::optional<std::optional<TimeUnit>> latency_column(std::string_view name) {
  constexpr std::array<std::string_view, 8> names = {"time",     "times",    "latency", "elapsed",
                                                     "duration", "measured", "actual",  "t"};
  const std::string lower = lower_case(name);
  if (lower == "seconds") return std::optional(TimeUnit::s);
  const NameAndUnit split = name_and_unit(lower);
  if (std::ranges::find(names, split.name) == names.end()) return std::nullopt;
  return split.unit;
}

struct SizeTimeColumns {
  std::size_t size = 0;
  double size_unit = 1;  // bytes
  std::size_t time = 0;
  std::optional<TimeUnit> time_unit{};
  std::optional<std::size_t> kind{};
  std::optional<std::size_t> ranks{};
};

std::optional<SizeTimeColumns> size_time_columns(std::span<const std::string_view> header) {
  SizeTimeColumns found;
  bool sized = false;
  bool timed = false;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const std::string name = lower_case(bare(header[i]));
    if (const auto unit = size_column(name); unit && !sized) {
      found.size = i;
      found.size_unit = *unit;
      sized = true;
    } else if (const auto time = latency_column(name); time && !timed) {
      found.time = i;
      found.time_unit = *time;
      timed = true;
    } else if (name == "collective" || name == "op" || name == "operation") {
      found.kind = i;
    } else if (name == "ranks" || name == "world_size" || name == "gpus") {
      found.ranks = i;
    } else if (name == "step" || name == "iteration") {
      return std::nullopt;  // steps, whose messages have sizes
    }
  }
  return sized && timed ? std::optional(found) : std::nullopt;
}

// The list "measurements" of a JSON object, else the whole text.
std::string_view measurements_of(std::string_view text) {
  constexpr std::string_view key = "\"measurements\"";
  if (!trimmed(text.substr(0, table_head)).starts_with('{')) return text;
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return text;
  const std::size_t list = text.find_first_not_of(": \t\r\n", at + key.size());
  if (list == std::string_view::npos || text[list] != '[') return text;
  const std::size_t end = text.find(']', list);
  return text.substr(list, end == std::string_view::npos ? end : end + 1 - list);
}

bool is_pairs(std::string_view head) {
  head = trimmed(head);
  if (!head.starts_with('[')) return false;
  head = trimmed(head.substr(1));
  if (!head.starts_with('[')) return false;
  const std::string_view first = head.substr(1, head.find(']') - 1);
  return std::ranges::count(first, ',') == 1;
}

Error no_rows(std::string_view path) {
  return {.what = "has no row with a size and a time above 0",
          .file = std::string(path),
          .hint = "write a header such as size_bytes,time_s and one message a line"};
}

// A JSON list of [size, time] as CSV.
Result<std::string> csv_of_pairs(ByteSource& source, std::string_view path) {
  std::string csv = "size,time\n";
  const auto take = [&](const JsonItem& pair) -> Result<Done> {
    if (pair.value == nullptr || pair.inner) return Done{};
    if (pair.value->kind != JsonValue::Kind::list || pair.value->items.size() != 2 ||
        csv.size() > longest_table)
      return Error{.what = "JSON that is no list of pairs [size, time]",
                   .file = std::string(path),
                   .byte = pair.byte,
                   .hint = R"(write [[1024, 0.00002], …] or {"size_bytes": […], "time_s": […]})"};
    for (const JsonValue& item : pair.value->items) {
      if (item.kind == JsonValue::Kind::integer || item.kind == JsonValue::Kind::number)
        append_number(csv, item.number);
      csv += &item == &pair.value->items.front() ? ',' : '\n';
    }
    return Done{};
  };
  if (const auto read = for_json_items(source, path, take); !read) return read.error();
  return csv;
}

// Whole bytes, of a number in the column's unit or of a size with its own.
std::optional<std::int64_t> size_in(std::string_view cell, double unit) {
  if (const auto number = number_in(cell)) {
    const double bytes = std::round(*number * unit);
    return bytes >= 1 && bytes <= 1e15 ? std::optional(static_cast<std::int64_t>(bytes))
                                       : std::nullopt;
  }
  const auto bytes = parse_bytes(bare(cell));
  return bytes ? std::optional(*bytes) : std::nullopt;
}

CommBenchmark& benchmark_of(std::vector<CommBenchmark>& all, CollectiveKind kind, int ranks,
                            std::string_view path) {
  for (CommBenchmark& b : all)
    if (b.kind == kind && b.ranks == ranks) return b;
  CommBenchmark& made = all.emplace_back();
  made.path = path;
  made.tool = "table";
  made.test = "sizes and times";
  made.kind = kind;
  made.ranks = ranks;
  return made;
}

}  // namespace

std::optional<CollectiveKind> collective_named(std::string_view name) {
  const auto letters = [](std::string_view text) {
    std::string out = lower_case(text);
    std::erase_if(out, [](char c) { return c == '_' || c == '-' || c == ' '; });
    return out;
  };
  const std::string wanted = letters(name);
  for (std::size_t i = 0; i < collective_kind_names.size(); ++i) {
    const auto kind = static_cast<CollectiveKind>(i);
    if (letters(collective_kind_names[i]) == wanted && busbw_factor(kind, 2)) return kind;
  }
  return std::nullopt;
}

bool looks_like_size_times(std::string_view text) {
  const std::string_view head = measurements_of(text.substr(0, table_head));
  if (is_pairs(head)) return true;
  const std::string_view begin = trimmed(head);
  if (begin.starts_with('[') || begin.starts_with('{'))
    return size_time_columns(first_keys(begin)).has_value();
  StepLines lines(head);
  for (std::string_view line; lines.next(line);) {
    if (trimmed(line).empty() || line.starts_with('#')) continue;
    std::vector<std::string_view> cells;
    split_cells(line, separator_of(line), cells);
    return size_time_columns(cells).has_value();
  }
  return false;
}

Result<std::vector<CommBenchmark>> parse_size_times(std::string_view text, std::string_view path,
                                                    const SizeTimeOptions& options) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark
  text = measurements_of(text);
  const std::string_view begin = trimmed(text.substr(0, table_head));
  if (begin.starts_with('[') || begin.starts_with('{')) {
    TextSource source(text);
    const auto csv = is_pairs(begin) ? csv_of_pairs(source, path) : csv_of_json(source, path);
    return csv ? parse_size_times(*csv, path, options)
               : Result<std::vector<CommBenchmark>>(csv.error());
  }
  std::vector<CommBenchmark> all;
  std::optional<SizeTimeColumns> columns;
  std::uint64_t left_out = 0;
  std::vector<std::string_view> cells;
  StepLines lines(text);
  char separator = ',';
  for (std::string_view line; lines.next(line);) {
    if (trimmed(line).empty() || line.starts_with('#')) continue;
    if (!columns) {
      separator = separator_of(line);
      split_cells(line, separator, cells);
      columns = size_time_columns(cells);
      if (!columns) return no_rows(path);
      continue;
    }
    split_cells(line, separator, cells);
    const auto cell = [&](std::optional<std::size_t> at) {
      return at && *at < cells.size() ? bare(cells[*at]) : std::string_view();
    };
    CollectiveKind kind = options.kind;
    if (columns->kind) {
      const auto named = collective_named(cell(columns->kind));
      if (!named)
        return Error{.what = "line " + std::to_string(lines.number()) + ": \"" +
                             std::string(cell(columns->kind)) + "\" is no known collective",
                     .file = std::string(path),
                     .hint = "write all_reduce, all_gather, reduce_scatter, all_to_all, …"};
      kind = *named;
    }
    const auto size = size_in(cell(columns->size), columns->size_unit);
    const double seconds = number_in(cell(columns->time)).value_or(0) *
                           ns_per(columns->time_unit.value_or(options.unit)) / ns_per(TimeUnit::s);
    const double ranks = number_in(cell(columns->ranks)).value_or(0);
    const bool counted = ranks >= 0 && ranks <= 1e6 && ranks == std::floor(ranks);
    if (!size || !(seconds >= 1e-9 && seconds <= 1e9) || !counted) {
      ++left_out;
      continue;
    }
    CommBenchmark& of = benchmark_of(all, kind, static_cast<int>(ranks), path);
    of.points.push_back({.bytes = Bytes{*size}, .time = Seconds{seconds}});
    if (!columns->time_unit)
      of.notes[std::string("times_without_a_unit_taken_as_") + std::string(name_of(options.unit))] =
          of.points.size();
  }
  if (all.empty()) return no_rows(path);
  if (left_out > 0) all.front().notes["rows_left_out"] = left_out;
  return all;
}

}  // namespace stepscope
