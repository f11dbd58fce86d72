// SPDX-License-Identifier: Apache-2.0
// Tables as CSV files (RFC 4180), for spreadsheets and data frames: the columns
// and units of docs/reference/json.md.
#pragma once

#include <string>
#include <vector>

#include "stepscope/report/json_values.h"

namespace stepscope {

struct CsvFile {
  std::string name;  // "steps.csv"
  std::string text;
};

// One row an object; objects in them become columns "key.inner", arrays are left out. No rows: no
// text.
[[nodiscard]] CsvFile csv_table(std::string name, const Json& rows);

// steps, gaps, collectives, stragglers, kernels, operators; expected_* and mfu where there is one.
// `tree` is analyze_tree()'s.
[[nodiscard]] std::vector<CsvFile> analyze_csv(const Json& tree);

}  // namespace stepscope
