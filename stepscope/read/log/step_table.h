// SPDX-License-Identifier: Apache-2.0
// Lines and cells of the tables and logs that step_times.h describes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/read/log/time_unit.h"

namespace stepscope {

// Iterates over lines, without their ends ("\n", "\r\n" or "\r").
class StepLines {
 public:
  explicit StepLines(std::string_view text) : rest_(text) {}
  // False behind the last line.
  bool next(std::string_view& line);
  [[nodiscard]] std::size_t number() const { return number_; }  // of the last line, from 1

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

// The line without what a launcher writes in front of it: "[rank0]: ", "[default0]:",
// "[1,0]<stdout>: ".
[[nodiscard]] std::string_view behind_rank(std::string_view line);

// The cell without blanks and quotes around it.
[[nodiscard]] std::string_view bare(std::string_view cell);
// A finite number that fills the whole cell.
[[nodiscard]] std::optional<double> number_in(std::string_view cell);
// Splits a line into cells. A separator within double quotes is text.
void split_cells(std::string_view line, char separator, std::vector<std::string_view>& cells);
// The separator of a header line: tab, else semicolon, else comma.
[[nodiscard]] char separator_of(std::string_view line);

// "forward_ms" as "forward" and ms; without a unit the whole name.
struct NameAndUnit {
  std::string_view name;
  std::optional<TimeUnit> unit{};
};
[[nodiscard]] NameAndUnit name_and_unit(std::string_view column);

// A column name for step times: its priority among such names (0 = the best) and its unit.
struct TimeColumn {
  std::size_t preference = 0;
  bool of_step = false;  // the name says so; a "time" may be that of a clock
  std::optional<TimeUnit> unit;
};
[[nodiscard]] std::optional<TimeColumn> time_column(std::string_view name);

// Appends the shortest text that reads back as this number.
void append_number(std::string& text, double number);

// A JSON table as CSV: a list of objects, whose keys are columns, or one object of lists (or of
// single numbers). Text loses its quotes, separators and line ends. Errors: JSON that does not
// parse, or is something else.
[[nodiscard]] Result<std::string> csv_of_json(ByteSource& source, std::string_view path);
// The keys of the first object at the beginning of JSON, as far as `head` shows it. Empty where a
// value is an object, or the text is no JSON.
[[nodiscard]] std::vector<std::string_view> first_keys(std::string_view head);

// A time and whether its unit is the assumed one, as nothing names another.
struct NamedStepTime {
  double ns = 0;
  bool unit_assumed = false;
};
// The time behind a name: "=412", ": 0.412 s". `unit` is that of the name.
[[nodiscard]] std::optional<NamedStepTime> time_behind(std::string_view rest,
                                                       std::optional<TimeUnit> unit,
                                                       TimeUnit assumed);
// The step time of "step_time_ms=412" or "step_time: 0.412 s" in a line.
[[nodiscard]] std::optional<NamedStepTime> named_time(std::string_view line, TimeUnit assumed);

}  // namespace stepscope
