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

// A number of a line. A later field with the same place in the record counts more.
struct LogField {
  std::string_view name;
  OptionalReal LogRecord::* into;
  double unit = 1;
  LogPlace place = LogPlace::behind;
};

struct LogPattern {
  std::string_view word;  // lines with this word are read
  // Name of the step's number. The record begins with the last one before the first field: a line
  // that was cut may precede it.
  std::string_view step;
  std::span<const LogField> fields;   // the first must be there and positive
  std::string_view ends = " |,";      // characters that end a number
  std::string_view behind_step = {};  // what must follow the step's number
  bool stamped = false;               // the record has the line's time stamp
  bool positive = false;              // other amounts are unknown
  bool shared = false;                // other programs print the word, without the first field
};

// Stores an amount in the unit of its field.
void set_amount(LogRecord& record, const LogField& field, std::optional<double> amount);
// The record of a line; null if the line was cut, or is another program's.
LogRecord* take_record(const LogTool& tool, const LogPattern& pattern, const LogLine& line,
                       LogState& state);

}  // namespace stepscope
