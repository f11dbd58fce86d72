// SPDX-License-Identifier: Apache-2.0
// `stepscope project`: what would a step of this job take on other GPUs, or under another plan?
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepscope/base/progress.h"
#include "stepscope/base/result.h"
#include "stepscope/fit/projection.h"
#include "stepscope/say/message.h"
#include "stepscope/verbs/inputs/plan_settings.h"
#include "stepscope/verbs/inputs/traces.h"

namespace stepscope {

struct ProjectRequest {
  TracesRequest traces{};
  std::string model{};             // of the catalogue, or a file; empty: only what needs none
  std::string machine{};           // of the job asked about; empty: the links of the traces
  std::string recorded_machine{};  // of the recorded job; empty: `machine`
  // What the traces do not show of the recorded plan.
  std::vector<PlanSetting> recorded{};
  // The plan asked about: fields that differ from the recorded plan. dp follows from the devices.
  PlanSettings plan{};
};

struct ProjectResult {
  std::string version;
  std::vector<InputRow> inputs;
  Projection projection;
  std::optional<HeldOut> held_out{};  // of the replay
  Messages warnings{};
  std::vector<Error> failures{};  // inputs that could not be read
};

// Errors: what is wrong with the request, or what the traces lack for it and how to record it.
[[nodiscard]] Result<ProjectResult> project(const ProjectRequest& request,
                                            const Progress& progress = {});

}  // namespace stepscope
