// SPDX-License-Identifier: Apache-2.0
// Finds the tables of a job's operations among the inputs, and reads one with its meta file.
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
  JobMeta meta;           // empty if there is no meta file
  std::string meta_path;  // empty if there is none
  // Damage of the table, and errors of the meta file or its absence. The table is usable in spite
  // of them.
  std::vector<Error> errors;
  std::vector<std::string> warnings;
};

// The inputs that are such tables, judged by their first bytes. Files named directly are tried
// unless they end as traces do (*.json…); in directories, files that end as tables do.
[[nodiscard]] std::vector<std::string> find_job_tables(std::span<const std::string> inputs);

// Reads the meta file too: meta-X.yaml for trace-X.csv(.gz) and trace-X.parquet, else the only
// meta-*.yaml in the folder.
[[nodiscard]] Result<JobTable> read_job_table(const std::string& path);

}  // namespace stepscope
