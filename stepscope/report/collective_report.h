// SPDX-License-Identifier: Apache-2.0
// The faces of `stepscope predict --collective`: every algorithm's time over a range of sizes, and
// where the best one changes.
#pragma once

#include <string>
#include <vector>

#include "stepscope/cost/time/collective_sweep.h"
#include "stepscope/report/csv_report.h"
#include "stepscope/report/json_values.h"
#include "stepscope/report/text_options.h"

namespace stepscope {

struct CollectiveReport {
  std::string version;
  std::string machine;
  CollectiveSweep sweep;
  std::vector<std::string> warnings;  // what the machine does not say, and what took its place
};

[[nodiscard]] std::string collective_text(const CollectiveReport& report,
                                          const TextOptions& options = {});
// docs/reference/json.md.
[[nodiscard]] Json collective_tree(const CollectiveReport& report);
// One row for each size and algorithm.
[[nodiscard]] CsvFile collective_csv(const CollectiveReport& report);

}  // namespace stepscope
