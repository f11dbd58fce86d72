// SPDX-License-Identifier: Apache-2.0
// The faces of `stepscope stacks`.
#pragma once

#include <string>
#include <vector>

#include "stepscope/pipeline/stacks.h"
#include "stepscope/report/csv_report.h"
#include "stepscope/report/json_values.h"
#include "stepscope/report/text_options.h"

namespace stepscope {

struct StacksTextOptions {
  TextOptions text{};
  bool top_down = false;
  bool bottom_up = false;
  double least = 0.01;  // share of what is shown below which a row is left out
};

// "pt_autograd_0: 33 % in ZeRO-3 gradient reduction; ...".
[[nodiscard]] std::string stacks_sentence(const StacksResult& report);
[[nodiscard]] std::string stacks_text(const StacksResult& report,
                                      const StacksTextOptions& options = {});
// docs/reference/json.md.
[[nodiscard]] Json stacks_tree(const StacksResult& report);
// threads, phases, functions.
[[nodiscard]] std::vector<CsvFile> stacks_csv(const StacksResult& report);

// Busy shares by phase, now and before: those that changed most first.
struct PhaseChange {
  std::uint32_t phase = 0;
  double now = 0;  // share of busy weight
  double before = 0;
};
[[nodiscard]] std::vector<PhaseChange> phase_changes(const StacksResult& report);

}  // namespace stepscope
