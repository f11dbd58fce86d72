// SPDX-License-Identifier: Apache-2.0
// What the host does: which phase of training the threads of host profiles are in, what changed
// since an earlier profile, and what the device did meanwhile where there are traces of the run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepscope/base/progress.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/diagnose/analysis.h"
#include "stepscope/diagnose/findings/stacks_findings.h"
#include "stepscope/say/message.h"
#include "stepscope/stack/flame.h"
#include "stepscope/stack/phase_rules.h"
#include "stepscope/stack/phases_of.h"
#include "stepscope/stack/profile.h"
#include "stepscope/stack/stack_summary.h"
#include "stepscope/verbs/inputs/traces.h"

namespace stepscope {

struct StacksRequest {
  // Collapsed stacks, perf script, py-spy, speedscope, pprof; compressed or not.
  std::vector<std::string> profiles{};
  std::string format{};              // of profile_format_names(); empty: recognised
  std::string against{};             // an earlier profile to compare with; empty: none
  std::vector<std::string> rules{};  // files of phases, before the built-in ones
  // Tables of CPython instructions, for lines of frames: of instruction_table_names(), or files.
  std::vector<std::string> lasti{};
  // The traces of the same run, which are joined with the profiles; without inputs no traces are
  // read.
  TracesRequest traces{};
  // That were profiled, where the traces have several: one for all, or one a profile in their
  // order. Empty: by the files' names.
  std::vector<int> ranks{};
  std::optional<Ns>
      offset{};          // added to the profiles' clock it gives the traces'; absent: the same
  bool gapless = false;  // no sample of a thread is missing, so that its place is an instant
};

// The profile compared with.
struct StacksBefore {
  Profile profile{};
  StackSummary summary{};
};

struct StacksTrace {
  std::vector<InputRow> inputs{};
  Run run{};        // the traces, which own the names that `job` refers to
  JobResult job{};  // without explanation
  std::vector<ProfileBesideTrace> profiles{};
  std::vector<Finding> findings{};  // seen in the stacks
};

struct StacksResult {
  Profile profile{};  // all of the request in one
  PhaseRules rules{};
  std::optional<InstructionTable> table{};  // that request.lasti names; lines of `phases` lie in it
  NodePhases phases{};
  StackSummary summary{};
  FlameGraph flame{};  // of both profiles where there are two
  std::optional<StacksBefore> before{};
  std::string lasti{};  // names or paths of the tables of instructions ("a, b"), or empty
  std::optional<StacksTrace> trace{};
  Messages warnings{};
  std::vector<Error> failures{};  // what could not be read or joined while the rest was
};

// Errors: rules or a table that cannot be read, no profile that can be (the first of the failures,
// which are reported), profiles of different units; interrupted.
[[nodiscard]] Result<StacksResult> stacks(const StacksRequest& request,
                                          const Progress& progress = {});

}  // namespace stepscope
