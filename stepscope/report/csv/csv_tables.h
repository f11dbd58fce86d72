// SPDX-License-Identifier: Apache-2.0
// The tables of a verb, flattened from its tree so that the two cannot differ, and as CSV files
// (RFC 4180) for spreadsheets and data frames: the columns and units of docs/reference/json.md.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/report/json/json_values.h"

namespace stepscope {

// One row an object. Objects in a row are columns "key.inner"; arrays in it are left out.
struct TreeTable {
  std::string name;  // "steps"
  Json rows;         // an array of objects of scalars
  // The columns that the table has even without rows, with their types: "rank:int name:text", of
  // int, real, text and bool. Rows may have others behind them.
  std::string_view columns{};
};

// steps, gaps, collectives, stragglers, ranks, budget, kernels, operators; expected_* and mfu where
// there is one.
[[nodiscard]] std::vector<TreeTable> analyze_tables(const Json& tree);
// launches, parts.
[[nodiscard]] std::vector<TreeTable> compare_tables(const Json& tree);
// values.
[[nodiscard]] std::vector<TreeTable> sweep_tables(const Json& tree);
// scenarios.
[[nodiscard]] std::vector<TreeTable> whatif_tables(const Json& tree);
// changes, width.
[[nodiscard]] std::vector<TreeTable> project_tables(const Json& tree);
// terms, memory, layers, layer_sums, the tables of a layer by other conventions (attention,
// feed_forward; the last row is the sum), and comparison where there is one.
[[nodiscard]] std::vector<TreeTable> predict_tables(const Json& tree);
// collective: one row for each size and algorithm.
[[nodiscard]] std::vector<TreeTable> collective_tables(const Json& tree);
// plans, pareto, rejected, sensitivity; by_devices and against where there are some.
[[nodiscard]] std::vector<TreeTable> plan_tables(const Json& tree);
// threads, phases, functions.
[[nodiscard]] std::vector<TreeTable> stacks_tables(const Json& tree);
// steps, rank_steps, memory, collectives.
[[nodiscard]] std::vector<TreeTable> train_tables(const Json& tree);

struct CsvFile {
  std::string name;  // "steps.csv"
  std::string text;
};

// A column for each key that any row has, in the order of their first rows. A table without rows is
// no file.
[[nodiscard]] std::vector<CsvFile> csv_files(std::span<const TreeTable> tables);

}  // namespace stepscope
