// SPDX-License-Identifier: Apache-2.0
// The flags of `stepscope project`, and what they ask for.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "stepscope/cli/flags/output_flags.h"
#include "stepscope/cli/flags/plan_source.h"
#include "stepscope/cli/flags/traces_flags.h"
#include "stepscope/pipeline/project.h"

namespace stepscope {

struct ProjectFlags {
  TracesFlags traces;
  PlanSource source;
  std::string recorded;  // as given
  std::string recorded_machine;
  bool brief = false;
  OutputPaths out;
};

void declare(CLI::App& app, ProjectFlags& flags);
// As understood. The errors say what is wrong and what to write.
[[nodiscard]] Result<ProjectRequest> project_request(const ProjectFlags& flags);

}  // namespace stepscope
