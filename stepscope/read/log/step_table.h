// SPDX-License-Identifier: Apache-2.0
// The lines and cells of step_times.h's tables and logs.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "stepscope/read/log/time_unit.h"

namespace stepscope {

// One line after the other, without its end ("\n", "\r\n" or "\r").
class StepLines {
 public:
  explicit StepLines(std::string_view text) : rest_(text) {}
  // False after the last.
  bool next(std::string_view& line);
  [[nodiscard]] std::size_t number() const { return number_; }  // of the last one, from 1

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

// Without blanks and quotes around it.
[[nodiscard]] std::string_view bare(std::string_view cell);
// A finite number that is the whole cell.
[[nodiscard]] std::optional<double> number_in(std::string_view cell);
// The cells of a line; a separator within double quotes is text.
void split_cells(std::string_view line, char separator, std::vector<std::string_view>& cells);
// What separates the cells of a header line: tab, semicolon, else comma.
[[nodiscard]] char separator_of(std::string_view line);

// A name of step times: its rank among such names (0 = the best) and the unit it ends in.
struct TimeColumn {
  std::size_t preference = 0;
  std::optional<TimeUnit> unit;
};
[[nodiscard]] std::optional<TimeColumn> time_column(std::string_view name);

// The step time that "step_time_ms=412" in a line names, in ns.
[[nodiscard]] std::optional<double> named_time(std::string_view line, TimeUnit assumed);
// That of a line of `stepscope train`, in ns.
[[nodiscard]] std::optional<double> train_time(std::string_view line);

}  // namespace stepscope
