// SPDX-License-Identifier: Apache-2.0
// Lines that report on a step, as tables: the names and units of a line's numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "stepscope/event/job_log.h"
#include "stepscope/read/log/log_line.h"

namespace stepscope {

enum class LogPlace : std::uint8_t {
  behind,   // the number stands behind its name
  before,   // the name is a unit behind the number
  in_line,  // behind its name, anywhere in the line
};

inline constexpr double percent = 0.01;
inline constexpr double mib_bytes = 1024.0 * 1024;
inline constexpr double gib_bytes = 1024.0 * 1024 * 1024;
inline constexpr double per_second = -1e9;  // the number is a rate of steps; as a time in ns

// A number of a line. A later field with the same place in the record counts more.
struct LogField {
  std::string_view name;
  OptionalReal LogRecord::* into = nullptr;  // null: a timer of the step, `unit` in ms
  double unit = 1;
  LogPlace place = LogPlace::behind;
  std::string_view after = {};  // what must follow the number: "ms"
};

// The lines with a word. Three kinds: a record in one line (`step` and `fields`); the head of a
// record whose numbers stand on the lines below it (`step` alone); such a line (`fields` alone).
struct LogPattern {
  std::string_view word;  // lines with this word are read
  // Name of the step's number. The record begins with the last one before the first field: a line
  // that was cut may precede it.
  std::string_view step = {};
  // Name of the epoch's number, perhaps in brackets, of lines that count their steps anew in each.
  std::string_view epoch = {};
  std::span<const LogField> fields = {};  // the first must be there and positive
  std::string_view ends = " |,";          // characters that end a number
  std::string_view behind_step = {};      // what must follow the step's number
  bool step_in_line = false;              // the step's number may stand behind the fields
  bool stamped = false;                   // the record has the line's time stamp
  bool positive = false;                  // other amounts are unknown
  bool shared = false;                    // other programs print the word, without the first field
  bool letters = false;                   // numbers end in the letters of SI: "4.71K"
  std::string_view timers = {};           // names that begin so are timers in seconds, ended by ':'
};

// Stores an amount in the unit of its field.
void set_amount(LogRecord& record, const LogField& field, std::optional<double> amount);
// The record of a line; null if the line was cut, is another program's, or is a part of a record.
LogRecord* take_record(const LogTool& tool, const LogPattern& pattern, const LogLine& line,
                       LogState& state);
// Adds the record of a tool whose head was read, if one is open and a line below it gave a number.
void close_record(const LogTool& tool, LogState& state);

}  // namespace stepscope
