// SPDX-License-Identifier: Apache-2.0
// Lists of step times: one number a line; a table with a column for them (CSV with comma, semicolon
// or tab); the log of a training job (job_log.h); the JSON of `stepscope train`.
// docs/explanation/compare.md says how they are distinguished.
//
//   column or key   step_time, iteration_time, iter_time, wall, wall_time, duration, elapsed, time,
//                   each with the suffix _ns, _us, _ms or _s, or without (then `unit` decides);
//                   step_ms and the like
//   cause           a column `cause`, `tag` or `event`: a note on the step, such as "checkpoint"
//   rank            with a column of this name, the time of a step is its slowest rank's, and the
//                   times of each rank are kept. A column `step`, `index` or `iteration` numbers
//                   the steps; without it the n-th row of a rank is its n-th step
//   phases          columns such as forward_ms and allreduce_ms (step_parts.h), or rows with the
//                   name of the phase in a column `phase` or `part`. Without times of whole steps
//                   the step is the sum of its phases, or a column such as total_time, which is
//                   its own. Rows of a column `operation`, `op`,
//                   `op_type` or `optype` are added up where they are parts that follow each other
//                   (forward, backward, optimizer), else refused
//   overlap         the lines "Compute only", "Comm only" and "Actual total" (printed_overlap.h)
//   rank0, rank1, … columns of one rank each, with or without a column of the step; rank_lists.h
//                   has the same as JSON and as printed lines
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"
#include "stepscope/read/log/step_list.h"  // IWYU pragma: export
#include "stepscope/read/log/step_reading.h"

namespace stepscope {

// Errors name the line and the expected content. With a pattern the text is a log.
[[nodiscard]] Result<StepTimes> parse_step_times(std::string_view text, std::string_view path,
                                                 const StepReading& reading = {});

// The kind of a file, by its first inflated bytes. A trace is what begins as JSON and as no list;
// the lines of a log may begin so, too (verbs/inputs/step_inputs.h asks the readers).
enum class StepFileKind : std::uint8_t { list, log, train_json, trace };
[[nodiscard]] Result<StepFileKind> step_file_kind(const std::string& path);

[[nodiscard]] Result<StepTimes> read_step_times(const std::string& path,
                                                const StepReading& reading = {},
                                                const StopFlag* stop = nullptr);

// Lists of one rank each as one list of all ranks: step i of each is step i of the job. Ranks are
// the numbers in the files' names if each has another, else the order of the files.
[[nodiscard]] Result<StepTimes> read_rank_files(std::span<const std::string> paths,
                                                const StepReading& reading, const StopFlag* stop);

}  // namespace stepscope
