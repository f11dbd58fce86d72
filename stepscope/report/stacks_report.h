// SPDX-License-Identifier: Apache-2.0
// What `stepscope stacks` has to say, before it takes a form: every face shows this and nothing
// else. Refers to what the caller owns.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepscope/report/csv_report.h"
#include "stepscope/report/json_values.h"
#include "stepscope/report/stacks_trace.h"
#include "stepscope/report/text_report.h"
#include "stepscope/stack/flame.h"
#include "stepscope/stack/stack_summary.h"

namespace stepscope {

// The profile compared with.
struct StacksBefore {
  const Profile* profile = nullptr;
  StackSummary summary;
};

struct StacksReport {
  std::string version;
  const Profile* profile = nullptr;
  const PhaseRules* rules = nullptr;
  const NodePhases* phases = nullptr;
  StackSummary summary;
  FlameGraph flame{};  // of both profiles where there are two
  std::optional<StacksBefore> before{};
  std::string lasti{};  // the table of instructions, or empty
  std::optional<StacksTrace> trace{};
  std::vector<std::string> warnings{};
};

struct StacksTextOptions {
  TextOptions text{};
  bool top_down = false;
  bool bottom_up = false;
  double least = 0.01;  // share of what is shown below which a row is left out
};

// "pt_autograd_0: 33 % in ZeRO-3 gradient reduction; ...".
[[nodiscard]] std::string stacks_sentence(const StacksReport& report);
[[nodiscard]] std::string stacks_text(const StacksReport& report,
                                      const StacksTextOptions& options = {});
// docs/reference/json.md.
[[nodiscard]] Json stacks_tree(const StacksReport& report);
// threads, phases, functions.
[[nodiscard]] std::vector<CsvFile> stacks_csv(const StacksReport& report);

// Busy shares by phase, now and before: those that changed most first.
struct PhaseChange {
  std::uint32_t phase = 0;
  double now = 0;  // share of busy weight
  double before = 0;
};
[[nodiscard]] std::vector<PhaseChange> phase_changes(const StacksReport& report);

// A thread for people: without addresses and numbers where that still tells it apart.
[[nodiscard]] std::string thread_label(const StacksReport& report, std::uint32_t thread);

// A frame for people: function and place, with the line that a table told.
[[nodiscard]] std::string frame_label(const StacksReport& report, StringId frame);
// "1,245 samples", "12.3 s".
[[nodiscard]] std::string format_weight(double weight, WeightUnit unit);
// "reads collapsed stacks: 3 lines without a count were skipped", one a reason.
[[nodiscard]] std::vector<std::string> input_remarks(const Profile& profile);

}  // namespace stepscope
