// SPDX-License-Identifier: Apache-2.0
// A comma-separated file with a header line: quoted fields, doubled quotes, line breaks in quotes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"

namespace stepscope::bench {

struct CsvTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // each as long as `columns`
  std::vector<std::size_t> lines;              // first line of each row; the header is line 1
};

// Errors: a row of another length, a quote that does not end. Errors name the line.
[[nodiscard]] Result<CsvTable> parse_csv(std::string_view text, const std::string& path);
[[nodiscard]] Result<CsvTable> read_csv(const std::string& path);

// The column's index. Errors name the column.
[[nodiscard]] Result<std::size_t> column(const CsvTable& table, std::string_view name);

}  // namespace stepscope::bench
