// SPDX-License-Identifier: Apache-2.0
// What `stepscope stacks` has to say, before it takes a form: every face shows this and nothing
// else. Refers to profiles and rules that the caller owns.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepscope/diagnose/analysis.h"
#include "stepscope/diagnose/stacks_findings.h"
#include "stepscope/stack/flame.h"
#include "stepscope/stack/stack_summary.h"

namespace stepscope {

// A trace of the same run. Names of `job` lie in the pools of its traces.
struct StacksTrace {
  std::vector<InputRow> inputs;
  JobResult job;
  std::vector<ProfileBesideTrace> profiles;
};

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

}  // namespace stepscope
