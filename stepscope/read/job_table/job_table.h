// SPDX-License-Identifier: Apache-2.0
// Tables of a job's operations among the inputs, and the reading of one with the meta file beside
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/event/job_operations.h"

namespace stepscope {

struct JobTable {
  std::string path;
  std::string format;  // "job_csv", "job_parquet"
  std::uint64_t file_bytes = 0;
  JobOperations operations;
  JobMeta meta;           // empty where there is none
  std::string meta_path;  // empty where there is none
  // What is wrong beside the table (its damage, the meta file's), or lacks. The table is of use all
  // the same.
  std::vector<Error> errors;
  std::vector<std::string> warnings;
};

// The files among the inputs that are such tables, by their first bytes: those named outright (but
// *.json…), and in directories those that end as tables do.
[[nodiscard]] std::vector<std::string> find_job_tables(std::span<const std::string> inputs);

// With the meta file: meta-X.yaml for trace-X.csv(.gz) and trace-X.parquet, else the only
// meta-*.yaml of the folder.
[[nodiscard]] Result<JobTable> read_job_table(const std::string& path);

}  // namespace stepscope
