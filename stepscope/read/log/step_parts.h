// SPDX-License-Identifier: Apache-2.0
// The parts of a step whose times a table has: phases of training, computation, communication.
//
//   computation    forward, backward, compute and their short forms (fwd, bwd, comp);
//   backward_with_allreduce optimizer      optimizer, optim, optimizer_step communication
//   communication, comm, nccl, allreduce and the other collectives, grad_sync data           data,
//   data_loading, dataloader, h2d and their kin other          checkpoint, evaluation, idle, other;
//   any other phase in a column of phases
//
// Case, '-' and blanks do not count, and "_time" may follow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/enum_names.h"
#include "stepscope/read/log/time_unit.h"

namespace stepscope {

enum class StepPartKind : std::uint8_t { computation, optimizer, communication, data, other };
inline constexpr auto step_part_kind_names = enum_names<StepPartKind::other>;

// "forward", "all-reduce", "Data loading". Absent: no known part.
[[nodiscard]] std::optional<StepPartKind> step_part(std::string_view name);
// "step", "total", "iteration": the whole step among its parts.
[[nodiscard]] bool is_whole_step(std::string_view name);

// A column of such times: "forward_ms", "fwd_time_s", "comm".
struct StepPartColumn {
  std::string name{};  // without the unit
  StepPartKind kind = StepPartKind::other;
  std::optional<TimeUnit> unit{};
};
[[nodiscard]] std::optional<StepPartColumn> step_part_column(std::string_view header);

struct StepPartName {
  std::string name{};
  StepPartKind kind = StepPartKind::other;
};

// One step of one rank.
struct StepPartsRow {
  std::int64_t step = 0;     // as the table has it, else its place from 0 on
  double step_ns = 0;        // > 0; the sum of the parts if the table has no time of the step
  std::vector<double> ns{};  // parallel to the names; 0: not in the table
};

struct StepParts {
  std::vector<StepPartName> names{};
  std::vector<StepPartsRow> rows{};
  bool summed = false;  // the table has no times of whole steps
};

// The longest of the times in a line that are named after a computation of a step ("forward_time=")
// and so are a part of it, in ns; 0: none.
[[nodiscard]] double longest_named_part(std::string_view line, TimeUnit assumed);

}  // namespace stepscope
