// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/memory/printed_memory.h"

#include <algorithm>
#include <cmath>

#include "stepscope/base/ascii.h"
#include "stepscope/base/files/text_source.h"
#include "stepscope/base/json_reader.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/bytes/json_members.h"
#include "stepscope/read/comm_lines/nccl_line.h"
#include "stepscope/read/incident/memory_size.h"
#include "stepscope/read/log/step_table.h"

namespace stepscope {
namespace {

using MemoryTable = PrintedMemoryLines::Table;

std::optional<MemoryTable> table_that_begins(std::string_view line) {
  if (line.find("=== Memory Profile ===") != std::string_view::npos) return MemoryTable::none;
  const bool totals = contains(line, "Allocated") && contains(line, "Peak");
  if (totals && contains(line, "Reserved") && contains(line, "Frag"))
    return MemoryTable::with_reserved;
  if (totals && contains(line, "Delta")) return MemoryTable::with_change;
  return std::nullopt;
}

// Removes the last word of a line.
std::string_view take_last_word(std::string_view& line) {
  line = trimmed(line);
  const std::size_t blank = line.find_last_of(" \t");
  const std::string_view word = blank == std::string_view::npos ? line : line.substr(blank + 1);
  line.remove_suffix(word.size());
  return word;
}

// Removes a size from the end of a line: "40.20GB", "6460.0 MB", "+17.1 MB".
std::optional<Bytes> take_last_size(std::string_view& line) {
  line = trimmed(line);
  const double unit = line.ends_with("GB") ? 1e9 : line.ends_with("MB") ? 1e6 : 0;
  if (unit == 0) return std::nullopt;
  line.remove_suffix(2);
  std::string_view word = take_last_word(line);
  if (word.starts_with('+')) word.remove_prefix(1);
  const auto number = number_of<double>(word);
  if (!number || !(std::abs(*number) < 1e9)) return std::nullopt;
  return Bytes{std::llround(*number * unit)};
}

std::optional<MemoryCheckpoint> checkpoint_of(std::string_view line, MemoryTable table) {
  std::optional<Bytes> reserved;
  if (table == MemoryTable::with_reserved && !take_last_word(line).ends_with('%'))
    return std::nullopt;
  if (table == MemoryTable::with_change && !take_last_size(line)) return std::nullopt;
  const auto peak = take_last_size(line);
  if (table == MemoryTable::with_reserved) reserved = take_last_size(line);
  const auto allocated = take_last_size(line);
  if (!peak || !allocated || (table == MemoryTable::with_reserved && !reserved))
    return std::nullopt;
  return MemoryCheckpoint{.label = std::string(trimmed(line)),
                          .allocated = *allocated,
                          .reserved = reserved,
                          .peak = *peak};
}

// The keys of one kind of JSON, and the bytes of its numbers.
struct CheckpointKeys {
  std::string_view label;
  std::string_view allocated;
  std::string_view reserved;  // empty: the JSON does not have it
  std::string_view peak;
  double unit;
};
constexpr CheckpointKeys checkpoint_keys[] = {
    {"label", "allocated_GB", "reserved_GB", "max_allocated_GB", 1e9},
    {"name", "allocated_mb", "", "peak_mb", 1e6}};

std::optional<MemoryCheckpoint> checkpoint_of(const JsonValue& object, const CheckpointKeys& keys) {
  const auto bytes = [&](std::string_view key) -> std::optional<Bytes> {
    const auto number = json_number(object, key);
    if (!number || !(std::abs(*number) < 1e9)) return std::nullopt;
    return Bytes{std::llround(*number * keys.unit)};
  };
  const auto allocated = bytes(keys.allocated);
  const auto peak = bytes(keys.peak);
  const std::string label = json_string(object, keys.label);
  if (!allocated || !peak || label.empty()) return std::nullopt;
  return MemoryCheckpoint{.label = label,
                          .allocated = *allocated,
                          .reserved = keys.reserved.empty() ? std::nullopt : bytes(keys.reserved),
                          .peak = *peak};
}

}  // namespace

// A line of see_memory_usage(): the name of a point, its sizes, or the host's memory.
bool PrintedMemoryLines::usage_line(std::string_view line) {
  constexpr SizeUnits units = SizeUnits::binary;
  constexpr std::string_view key = "see_memory_usage] ";
  const auto said = behind(line, key);
  const std::string_view text = trimmed(said.value_or(line));
  if (text.starts_with("MA ") && contains(text, " Max_MA ")) {
    const auto allocated = size_at_front(text.substr(3), units);
    const auto peak = size_behind(text, " Max_MA ", units);
    if (allocated && peak)
      checkpoints.push_back(
          {.label = point_.empty() ? "line " + std::to_string(number_) : std::move(point_),
           .allocated = *allocated,
           .reserved = size_behind(text, " CA ", units),
           .peak = *peak});
    point_.clear();
    return true;
  }
  if (text.starts_with("CPU Virtual Memory:")) {
    if (!checkpoints.empty() && !checkpoints.back().host)
      checkpoints.back().host = size_behind(text, "used = ", units);
    return true;
  }
  if (said) point_ = text;
  return said.has_value();
}

bool begins_json_checkpoints(std::string_view head) {
  if (!trimmed(head).starts_with('[')) return false;
  const std::vector<std::string_view> keys = first_keys(trimmed(head));
  const auto has = [&](std::string_view key) { return std::ranges::find(keys, key) != keys.end(); };
  return std::ranges::any_of(checkpoint_keys, [&](const CheckpointKeys& k) {
    return has(k.label) && has(k.allocated) && has(k.peak);
  });
}

void PrintedMemoryLines::take(std::string_view block) {
  StepLines lines(block);
  for (std::string_view line; lines.next(line);) {
    ++number_;
    line = behind_rank(line);
    if (usage_line(line)) continue;
    if (const auto begun = table_that_begins(line)) {
      titled_ = titled_ || *begun == MemoryTable::none;
      table_ = titled_ ? *begun : MemoryTable::none;
    } else if (table_ != MemoryTable::none) {
      if (auto one = checkpoint_of(line, table_)) checkpoints.push_back(std::move(*one));
    }
  }
}

std::vector<MemoryCheckpoint> printed_checkpoints(std::string_view text) {
  PrintedMemoryLines lines;
  if (!begins_json_checkpoints(text)) {
    lines.take(text);
    return std::move(lines.checkpoints);
  }
  TextSource source(text);
  // What stands in front of an error is kept: the text may be the beginning of a file.
  (void)for_json_items(source, {}, [&](const JsonItem& item) -> Result<Done> {
    if (item.value == nullptr || item.inner) return Done{};
    for (const CheckpointKeys& keys : checkpoint_keys)
      if (auto one = checkpoint_of(*item.value, keys)) {
        lines.checkpoints.push_back(std::move(*one));
        break;
      }
    return Done{};
  });
  return std::move(lines.checkpoints);
}

}  // namespace stepscope
