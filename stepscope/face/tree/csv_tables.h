// SPDX-License-Identifier: Apache-2.0
// The tables of a verb, flattened from its tree so that the two cannot differ, and as CSV files
// (RFC 4180) for spreadsheets and data frames: the columns and units of docs/reference/json.md.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/face/tree/json_values.h"

namespace stepscope {

// One row an object. Objects in a row are columns "key.inner"; arrays in it are left out.
struct TreeTable {
  std::string name;  // "steps"
  Json rows;         // an array of objects of scalars
  // The columns that the table has even without rows, with their types: "rank:int name:text", of
  // int, real, text and bool. Rows may have others behind them.
  std::string_view columns{};
};

// A row with the members of its objects as "key.inner", without its arrays.
[[nodiscard]] Json flat(const Json& row);
// A table with a row for each of `rows`.
[[nodiscard]] TreeTable table_of(std::string name, const Json& rows, std::string_view columns = {});
// The rows of root["ranks"][i][key], each with its rank in front.
[[nodiscard]] TreeTable per_rank(const Json& root, const std::string& key, std::string name,
                                 std::string_view columns = {});

struct CsvFile {
  std::string name;  // "steps.csv"
  std::string text;
};

// A column for each key that any row has, in the order of their first rows. A table without rows is
// no file.
[[nodiscard]] std::vector<CsvFile> csv_files(std::span<const TreeTable> tables);

}  // namespace stepscope
