// SPDX-License-Identifier: Apache-2.0
// What the recording of a rank has and what it lacks, counted before any question is answered.
// Absence is no evidence: what a count here says is missing did not thereby not happen.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/recording/start_up.h"
#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/event/category.h"
#include "stepscope/event/metadata.h"
#include "stepscope/event/trace.h"

namespace stepscope {

// Of the annotation of one step on the host.
struct StepRecording {
  std::int64_t index = 0;           // Step::index
  std::uint64_t launches = 0;       // calls that launch kernels
  std::uint64_t lost_launches = 0;  // of them, without a row of the device
  std::uint64_t device_rows = 0;    // kernels, copies and memsets launched in it
};

struct RankRecording {
  std::string format;                                // of its file: "kineto", "nsys", …
  Clock clock = Clock::relative;                     // of its instants
  std::array<std::uint64_t, category_count> rows{};  // by Category
  std::vector<StepRecording> steps;                  // of the steps that are accounted for
  std::vector<std::int64_t> lost_steps;              // left out: their device rows are lost

  std::uint64_t launches = 0;       // as in a step, of the whole trace
  std::uint64_t lost_launches = 0;  // RankIndex::lost_launches
  std::uint64_t device_rows = 0;
  std::uint64_t loose_rows = 0;        // device rows whose launch has no row
  std::uint64_t graph_launches = 0;    // calls that launch a graph
  std::uint64_t graph_rows = 0;        // device rows of those calls
  std::uint64_t outside_rows = 0;      // that begin before the profiler's own window or end after
  std::uint64_t overlapping_rows = 0;  // kernels that end after the next of their stream has ended,
                                       // launched by another call
  std::map<std::string, std::uint64_t> notes;  // rows that were lost, left out or mended
                                               // (ImportNotes::counts)

  std::uint64_t shaped_operators = 0;  // operators with the shapes of their inputs
  std::uint64_t memory_events = 0;
  std::uint64_t collectives = 0;         // with metadata; messages are among them
  std::uint64_t in_named_groups = 0;     // of them, with the name or the ranks of their group
  std::uint64_t messages = 0;            // sends and receives
  std::uint64_t addressed_messages = 0;  // of them, with their peer
  std::uint64_t stepping_processes = 0;  // that mark the same steps; two or more: a file of several
                                         // ranks whose rows cannot be told apart
  bool pytorch = false;                  // operators or kernels of ATen
  StartUp start_up;

  [[nodiscard]] std::uint64_t of(Category c) const { return rows[static_cast<std::size_t>(c)]; }
  [[nodiscard]] bool device_unseen() const { return device_rows == 0 && lost_launches > 0; }
  [[nodiscard]] bool has_launch_rows() const { return device_rows > loose_rows; }
};

// Of a sealed trace. `steps`: those that are accounted for; `lost`: those left out
// (IncompleteSteps::lost). O(rows).
[[nodiscard]] RankRecording recording_of(const Trace& trace, const RankIndex& rank,
                                         std::span<const Step> steps,
                                         std::span<const Step> lost = {});

}  // namespace stepscope
