// SPDX-License-Identifier: Apache-2.0
// Lists of step times: one number a line, a table with a column for them (CSV, comma, semicolon or
// tab), a training job's log (job_log.h), and the JSON of `stepscope train`.
// docs/explanation/compare.md says how each is told.
//
//   column or key   step_time, iteration_time, iter_time, wall, wall_time, duration, elapsed, time,
//                   each with _ns, _us, _ms or _s behind it, or without (then `unit` decides)
//   cause           a column `cause`, `tag` or `event`: what the row knows of the step
//   step and rank   with columns of both names, a step lasts as long as its slowest rank's
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/read/log/time_unit.h"

namespace stepscope {

struct StepTimes {
  std::vector<double> wall_ns{};           // in time order, finite and > 0
  std::vector<std::string> causes{};       // parallel, or empty: "checkpoint", "eval", …
  std::vector<std::int64_t> iterations{};  // of a log: parallel, -1 where it names none
  // "column wall_ns", "Megatron-LM: elapsed time per iteration", "stepscope train", "numbers"
  std::string source{};
  bool unit_assumed = false;           // nothing named the unit
  std::uint64_t left_out = 0;          // rows without a positive number
  std::vector<std::string> remarks{};  // what to know of a log's times
};

// What nothing names a unit for is in `assumed`. Errors name the line and what is expected.
[[nodiscard]] Result<StepTimes> parse_step_times(std::string_view text, std::string_view path,
                                                 TimeUnit assumed = TimeUnit::ms);

// What a file holds, by its first bytes, inflated.
enum class StepFileKind : std::uint8_t { list, log, train_json, trace };
[[nodiscard]] Result<StepFileKind> step_file_kind(const std::string& path);

[[nodiscard]] Result<StepTimes> read_step_times(const std::string& path,
                                                TimeUnit assumed = TimeUnit::ms);

}  // namespace stepscope
