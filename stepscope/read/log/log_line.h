// SPDX-License-Identifier: Apache-2.0
// One line of a job's log, and what its parts say: who wrote it and when, numbers that nobody cut.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stepscope/base/ascii.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/event/job_log.h"
#include "stepscope/read/log/time_unit.h"

namespace stepscope {

inline constexpr std::size_t most_log_tools = 32;

// The number that is all of `text` but for blanks, or that a blank, '(' or '%' follows: what
// another writer cut into is none. Commas between digits are no part of it.
[[nodiscard]] std::optional<double> clean_number(std::string_view text);
[[nodiscard]] std::optional<std::int64_t> clean_integer(std::string_view text);
// The clean number behind the first `key`, until `end`.
[[nodiscard]] std::optional<double> clean_number_behind(std::string_view text, std::string_view key,
                                                        std::string_view ends = " |,");
// What the line says of the loss; one that is no number counts as such a step.
void set_loss(LogRecord& record, std::optional<double> loss);
// "[rank3]:", "[Rank 3]", "[default3]:", "3: ", of launchers and of DeepSpeed; -1 where none stands
// at the front or in brackets.
[[nodiscard]] std::int32_t rank_of_line(std::string_view text);
// "2026-01-01 12:00:00.123" or with ',' before the fraction, the first in the line, since 1970 on
// the calendar of its writer.
[[nodiscard]] std::optional<Ns> stamp_of_line(std::string_view text);
// "5.66" of "5.66GB", "1.24 B", "4.1 TMACs", "123.4 ms": number and what follows it.
struct NumberAndUnit {
  double number = 0;
  std::string_view unit{};
};
[[nodiscard]] std::optional<NumberAndUnit> number_and_unit(std::string_view text);

// A line without colours, and the log that it belongs to.
struct LogLine {
  std::string_view text;
  std::int32_t rank = -1;
};

struct LogState;
// Takes a line in which a word of its tool stands; false where the line is not the tool's.
using TakeLine = bool (*)(const LogLine& line, LogState& state);

void count_line(JobLog& log, const LogTool& tool);

// What a reader of lines keeps between them.
struct LogState {
  JobLog& log;
  TimeUnit assumed = TimeUnit::ms;  // of step times that name none
  std::int32_t launch = 0;
  std::size_t records_at_launch = 0;
  // By JobLog::tools: an evaluation or a checkpoint that its records have not been told of. One log
  // may hold records of two, and each has the time of that in its next one.
  std::bitset<most_log_tools> evaluated{};
  std::bitset<most_log_tools> saved{};
  // Takes the lines that follow the title of a table, until it returns false.
  TakeLine follow = nullptr;
  std::size_t table_lines = 0;
  std::string table_name{};

  // The record of a line that reports on a step.
  LogRecord& add(const LogTool& tool, const LogLine& line);
  // A job begins: what is logged from now on is another launch, if anything was before.
  void begin_launch();
  void note(const char* what) { ++log.notes[what]; }
  void time(const LogTool& tool, std::string_view name, double ms);
};

}  // namespace stepscope
