// SPDX-License-Identifier: Apache-2.0
// Checklists of a slow run: what was checked, on what evidence, with what result. A line whose
// evidence is not recorded says how to record it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/analysis/runs/step_facts.h"
#include "stepscope/base/enum_names.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/diagnose/finding.h"
#include "stepscope/say/message.h"

namespace stepscope {

enum class ChecklistResult : std::uint8_t { fine, look, unknown };
inline constexpr auto checklist_result_names = enum_names<ChecklistResult::unknown>;

struct ChecklistLine {
  std::string_view name;  // "mixed_precision"
  ChecklistResult result = ChecklistResult::unknown;
  Message evidence;  // of `unknown` the reason and the remedy
};

struct Checklist {
  std::string_view name;  // "low_mfu", "communication", "memory", "timeline", "stragglers"
  Message title;          // "Low MFU"
  std::vector<ChecklistLine> lines;
};

struct ChecklistInput {
  const StepFacts& facts;
  const JobResult* job = nullptr;       // of traces
  std::span<const Finding> findings{};  // of the job
  const Machine* machine = nullptr;     // of the ranks' GPU, null: unknown
  std::optional<int> world_size{};
  std::optional<double> memory_share{};  // of the device's memory at the peak, if a log gives it
  Message lacking{};            // without a job: why the input gives no answer, and the remedy
  Message no_device{};          // the same for kernels and memory of a GPU; empty: as `lacking`
  Messages late{};              // the ranks that are late
  bool times_compared = false;  // of the steps of two ranks or more
};

// The five lists, in the order of their names above.
[[nodiscard]] std::vector<Checklist> checklists(const ChecklistInput& input);

}  // namespace stepscope
