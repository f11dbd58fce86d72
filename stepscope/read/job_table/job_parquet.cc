// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/job_table/job_parquet.h"

#include <algorithm>
#include <limits>

#include "stepscope/read/bytes/parquet.h"
#include "stepscope/read/job_table/job_columns.h"

namespace stepscope {
namespace {

bool fits(JobColumn column, const ParquetColumn& found) {
  switch (column) {
    case JobColumn::optype:
      return found.type == ParquetType::bytes;
    case JobColumn::start_ts:
    case JobColumn::duration:
      return found.type == ParquetType::real32 || found.type == ParquetType::real64;
    default:
      return found.type == ParquetType::int32 || found.type == ParquetType::int64;
  }
}

}  // namespace

Result<JobOperations> read_job_parquet(std::string_view file, const std::string& path) {
  const auto columns = read_parquet(file, job_column_names, path);
  if (!columns) return columns.error();
  for (std::size_t c = 0; c < job_column_count; ++c)
    if (!fits(static_cast<JobColumn>(c), (*columns)[c]))
      return Error{.what = "the column " + std::string(job_column_names[c]) +
                           " has another type than numbers or text as it should",
                   .file = path,
                   .byte = file.size(),
                   .hint =
                       "optype is text, start_ts and duration are floating-point, the rest "
                       "integers"};
  const auto of = [&](JobColumn c) -> const ParquetColumn& {
    return (*columns)[static_cast<std::size_t>(c)];
  };
  JobOperations table;
  table.text_bytes = file.size();
  const std::size_t rows = of(JobColumn::optype).text.size();
  for (std::size_t r = 0; r < rows; ++r) {
    const bool absent = std::ranges::any_of(
        *columns, [&](const ParquetColumn& c) { return !c.absent.empty() && c.absent[r]; });
    if (absent) {
      ++table.notes.events;
      table.notes.add("absent_value", file.size());
      continue;
    }
    JobRow row;
    for (std::size_t c = 0; c < job_column_count; ++c)
      if (!(*columns)[c].integers.empty()) row.number[c] = (*columns)[c].integers[r];
    row.optype = of(JobColumn::optype).texts[of(JobColumn::optype).text[r]];
    row.start = of(JobColumn::start_ts).reals[r];
    row.duration = of(JobColumn::duration).reals[r];
    append_row(table, row, file.size());
  }
  return table;
}

}  // namespace stepscope
