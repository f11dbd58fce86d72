// SPDX-License-Identifier: Apache-2.0
// The columns of a job's table of operations, for all file formats.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stepscope/event/job_operations.h"

namespace stepscope {

enum class JobColumn : std::uint8_t {
  dp_rank,
  stage,
  rank,
  step,
  optype,
  start_ts,  // seconds
  duration,  // seconds
  seq_id,
  mc,
  mb_id,
  gmc,
};
inline constexpr std::size_t job_column_count = 11;
inline constexpr std::array<std::string_view, job_column_count> job_column_names = {
    "dp_rank",  "stage",  "rank", "step",  "optype", "start_ts",
    "duration", "seq_id", "mc",   "mb_id", "gmc"};
static_assert(!job_column_names.back().empty());

// One row. Numbers are by column; optype, start_ts and duration are separate.
struct JobRow {
  std::array<std::int64_t, job_column_count> number{};
  std::string_view optype;
  double start = 0;
  double duration = 0;
};

// Appends the row, or counts in the notes why it is unusable: "unknown_optype",
// "number_out_of_range" (ids beyond 2^20, stages beyond 2^12, starts outside -2^31 to 2^32 s,
// durations beyond 2^31 s, times that are not finite), "negative_duration". `byte` is the position
// of the row in the file.
void append_row(JobOperations& table, const JobRow& row, std::uint64_t byte);

}  // namespace stepscope
