// SPDX-License-Identifier: Apache-2.0
// `stepscope stacks --trace`: the traces that stand beside the profiles.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/traces_flags.h"
#include "stepscope/read/files/read_trace.h"
#include "stepscope/report/stacks_result.h"

namespace stepscope {

struct StacksTraceFlags {
  TracesFlags traces;      // inputs empty: no trace
  std::vector<int> ranks;  // of the profiles; one, or one a profile
  std::string offset_text;
  bool gapless = false;

  // As understood, by resolve().
  TracesRequest request;
  std::optional<Ns> offset;
  std::map<std::string, int> rank_of;  // by path of the profile
};

void declare(CLI::App& app, StacksTraceFlags& flags);
// `profiles`: their paths.
[[nodiscard]] Result<Done> resolve(StacksTraceFlags& flags, std::span<const std::string> profiles);

// "-12.000000001" as nanoseconds, exactly; empty where it is no such number or too large.
[[nodiscard]] std::optional<Ns> parse_seconds(std::string_view text);

// Traces and their account.
struct TraceBeside {
  Run run;
  JobResult job;
  std::vector<InputRow> inputs;
};

// Null where there is no rank to stand beside a profile: failures say why.
[[nodiscard]] std::unique_ptr<TraceBeside> read_beside(const StacksTraceFlags& flags,
                                                       Failures& failures);
// Profiles whose rank nobody can tell are failures; the others are joined where they can be. The
// account moves into the result, whose names stay in the traces.
[[nodiscard]] StacksTrace join_profiles(const StacksTraceFlags& flags, const Profile& profile,
                                        const NodePhases& phases, TraceBeside& beside,
                                        Failures& failures);

}  // namespace stepscope
