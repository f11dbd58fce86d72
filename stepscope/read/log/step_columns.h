// SPDX-License-Identifier: Apache-2.0
// Tables of step times (step_times.h): which columns are used, and the rows.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/read/log/rank_lists.h"
#include "stepscope/read/log/step_list.h"
#include "stepscope/read/log/step_parts.h"
#include "stepscope/read/log/step_reading.h"
#include "stepscope/read/log/step_table.h"
#include "stepscope/read/log/time_unit.h"

namespace stepscope {

// The columns of a table that are used.
struct TableColumns {
  std::optional<std::size_t> time{};  // absent: the step is the sum of `parts`
  std::optional<TimeUnit> unit{};
  bool of_step = false;  // the name says that the time is a step's
  std::string name{};
  std::optional<std::size_t> cause{};
  std::optional<std::size_t> step{};
  std::optional<std::size_t> epoch{};
  std::optional<std::size_t> rank{};
  std::optional<std::size_t> part{};  // says which part of a step a row is
  bool of_operations = false;         // by its name the rows are operations, not steps
  bool of_sizes = false;              // there is a column of messages' sizes
  bool of_scores = false;             // there is a column of z-scores: the ranks that stand out
  std::vector<std::pair<std::size_t, StepPartColumn>> parts{};
  std::vector<std::string> unused{};  // names
};

// The times of one rank each.
struct RankColumns {
  std::vector<std::pair<std::size_t, RankName>> times{};
  std::optional<std::size_t> step{};
};

// Absent: the header names neither step times nor phases.
[[nodiscard]] std::optional<TableColumns> step_columns(std::span<const std::string_view> header);
// Without times if the header names none.
[[nodiscard]] RankColumns rank_columns(std::span<const std::string_view> header);

// `lines`: those below the header. Errors name the line.
[[nodiscard]] Result<StepTimes> steps_of_table(StepLines lines, char separator,
                                               const TableColumns& columns, std::string_view path,
                                               const StepReading& reading);
[[nodiscard]] Result<StepTimes> steps_of_rank_columns(StepLines lines, char separator,
                                                      const RankColumns& columns,
                                                      std::string_view path, TimeUnit assumed);

}  // namespace stepscope
