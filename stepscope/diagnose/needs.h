// SPDX-License-Identifier: Apache-2.0
// What a finding, a verdict and a what-if need of the recording. Absence is no evidence: where the
// recording lacks what one needs it is not made, and the answer names what is missing and the
// switch that records it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "stepscope/analysis/runs/step_facts.h"
#include "stepscope/say/message.h"

namespace stepscope {

// By the id of a finding or the kind of a verdict (culprit_kind_names). Each has at least one need
// (Fact::rows for those that any recording shows). REQUIRES: one of these.
[[nodiscard]] std::span<const Fact> needs_of(std::string_view finding);
[[nodiscard]] std::span<const Fact> needs_of(Change change);

// The first fact of the needs that the job lacks; absent: it has them all.
[[nodiscard]] std::optional<Fact> lacks(const Facts& facts, std::span<const Fact> needs);

// A fact that the recording lacks.
struct MissingFact {
  Fact fact = Fact::rows;
  Message what;                            // "the shapes of operators' inputs"
  Message record;                          // "record_shapes=True"; empty: its profiler cannot
  Message gives;                           // "FLOPs, TFLOP/s, rooflines"
  std::vector<std::string_view> findings;  // ids of those that are not looked for
};

// In the order of Fact. What the profiler of the traces cannot record is among them.
[[nodiscard]] std::vector<MissingFact> missing_facts(const JobResult& job);

// What records the fact by the profiler of the traces; empty: it cannot. REQUIRES: ranks, and a
// fact that has a switch.
[[nodiscard]] Message record_with(Fact fact, const JobResult& job);

// What to do where launches have no row of the device. PyTorch's profiler records calls of the
// runtime also without ProfilerActivity.CUDA, but its own overhead on the device only with it.
[[nodiscard]] Message device_rows_remedy(const JobResult& job);

// Whether some rank launched kernels and has no row of its device.
[[nodiscard]] bool device_unseen(const JobResult& job);

// Takes the faults out of the replay's answers that the recording cannot bear, and refuses such
// what-ifs with the reason. Without launches, or rows of the device, all are.
void withhold_unfounded(JobResult& job);

}  // namespace stepscope
