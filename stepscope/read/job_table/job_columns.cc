// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/job_table/job_columns.h"

#include <algorithm>
#include <cmath>

namespace stepscope {
namespace {

constexpr std::int64_t most = 1 << 20;
constexpr std::int64_t most_stages = 1 << 12;
constexpr std::int64_t most_steps = std::int64_t{1} << 53;
// The difference of two ends in nanoseconds fits an int64.
constexpr double first_second = -0x1p31;
constexpr double last_second = 0x1p32;
constexpr double most_seconds = 0x1p31;

bool within(std::int64_t v, std::int64_t low, std::int64_t high) { return v >= low && v <= high; }

}  // namespace

void append_row(JobOperations& table, const JobRow& row, std::uint64_t byte) {
  ++table.notes.events;
  const auto op = job_op_of(row.optype);
  if (!op) return table.notes.add("unknown_optype", byte);
  const auto of = [&](JobColumn c) { return row.number[static_cast<std::size_t>(c)]; };
  const auto id = [&](JobColumn c) { return static_cast<std::int32_t>(of(c)); };
  bool good = within(of(JobColumn::step), -most_steps, most_steps);
  good = good && within(of(JobColumn::stage), 0, most_stages - 1);
  for (const JobColumn c : {JobColumn::dp_rank, JobColumn::seq_id})
    good = good && within(of(c), 0, most);
  for (const JobColumn c : {JobColumn::rank, JobColumn::mc, JobColumn::mb_id, JobColumn::gmc})
    good = good && within(of(c), -1, most);
  good = good && row.start > first_second && row.start < last_second &&
         std::abs(row.duration) < most_seconds;
  if (!good) return table.notes.add("number_out_of_range", byte);
  if (row.duration < 0) return table.notes.add("negative_duration", byte);
  table.dp_rank.push_back(id(JobColumn::dp_rank));
  table.stage.push_back(id(JobColumn::stage));
  table.rank.push_back(id(JobColumn::rank));
  table.step.push_back(of(JobColumn::step));
  table.op.push_back(*op);
  table.start.emplace_back(row.start);
  table.duration.emplace_back(row.duration);
  table.seq_id.push_back(id(JobColumn::seq_id));
  table.mc.push_back(id(JobColumn::mc));
  table.mb_id.push_back(id(JobColumn::mb_id));
  table.gmc.push_back(id(JobColumn::gmc));
}

}  // namespace stepscope
