// SPDX-License-Identifier: Apache-2.0
// One line of a job's log and its parts: rank, time stamp, complete numbers.
#pragma once

#include <any>
#include <bitset>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "stepscope/base/ascii.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/event/job_log.h"
#include "stepscope/read/log/step_reading.h"

namespace stepscope {

inline constexpr std::size_t most_log_tools = 64;
// No time, size or rate of a log is larger, in any unit. Sums and products of a few stay finite.
inline constexpr double most_amount = 1e30;

// The number in `text`. It must be the whole text without blanks, or be followed by a blank, '(' or
// '%': a number that another writer cut into is rejected. Commas between digits are ignored.
[[nodiscard]] std::optional<double> clean_number(std::string_view text);
[[nodiscard]] std::optional<std::int64_t> clean_integer(std::string_view text);
// The clean number behind the first `key`, up to a character of `ends`.
[[nodiscard]] std::optional<double> clean_number_behind(std::string_view text, std::string_view key,
                                                        std::string_view ends = " |,");
// "name: 1.5", split at the last ": ". Without a clean number, `number` is absent.
struct NamedNumber {
  std::string_view name{};
  std::optional<double> number{};
};
[[nodiscard]] NamedNumber named_number(std::string_view field);
// Takes a field off a line whose fields are separated by '|'. False behind the last one.
[[nodiscard]] bool take_field(std::optional<std::string_view>& line, std::string_view& field);
// With small letters of ASCII.
[[nodiscard]] std::string lower_case(std::string_view text);
// Sets the loss; a loss that is not a number counts as a non-finite step.
void set_loss(LogRecord& record, std::optional<double> loss);
// The rank in "[rank3]:", "[Rank 3]", "[default3]:" or "3: " (launchers, DeepSpeed), at the front
// or in brackets. -1 without a rank.
[[nodiscard]] std::int32_t rank_of_line(std::string_view text);
// The first "2026-01-01 12:00:00.123" in the line, with '.' or ',' before the fraction, as time
// since 1970 on the calendar of its writer.
[[nodiscard]] std::optional<Ns> stamp_of_line(std::string_view text);
// The whole number behind the first "epoch" that has one: "Epoch [3][50/2350]", "epoch 003:",
// "Epoch: 3/10", "Epoch(train) [3]". -1 without one.
[[nodiscard]] std::int32_t epoch_of_line(std::string_view text);
// A number and its suffix, from "5.66GB", "1.24 B", "4.1 TMACs", "123.4 ms".
struct NumberAndUnit {
  double number = 0;
  std::string_view unit{};
};
[[nodiscard]] std::optional<NumberAndUnit> number_and_unit(std::string_view text);

// A line without colour codes, and the log it belongs to.
struct LogLine {
  std::string_view text;
  std::int32_t rank = -1;
};

struct LogState;
// Reads a line that contains a word of its tool. False if the line is not the tool's.
using TakeLine = bool (*)(const LogLine& line, LogState& state);

void count_line(JobLog& log, const LogTool& tool);

// State of the line readers between lines.
struct LogState {
  JobLog& log;
  StepReading reading{};
  std::int32_t launch = 0;
  std::size_t records_at_launch = 0;
  // By JobLog::tools: an evaluation or a checkpoint that no record has yet. A log may hold records
  // of two tools, and the next record of each contains that time.
  std::bitset<most_log_tools> evaluated{};
  std::bitset<most_log_tools> saved{};
  // Reads the lines below a table's title until it returns false.
  TakeLine follow = nullptr;
  std::size_t table_lines = 0;
  std::string table_name{};
  std::map<const LogTool*, std::any> kept{};   // what a tool's reader remembers, of its own type
  std::map<const LogTool*, LogRecord> open{};  // records whose lines may follow (log_pattern.h)

  // Adds the record of a line that reports on a step.
  LogRecord& add(const LogTool& tool, const LogLine& line);
  // Marks the start of a job: if anything was logged before, later lines are another launch.
  void begin_launch();
  void note(const char* what) { ++log.notes[what]; }
  void time(const LogTool& tool, std::string_view name, double ms);
};

}  // namespace stepscope
