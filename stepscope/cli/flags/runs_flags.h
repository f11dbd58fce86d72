// SPDX-License-Identifier: Apache-2.0
// The flags of `stepscope runs`, and what they ask for.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "stepscope/cli/flags/measuring_flags.h"
#include "stepscope/cli/flags/output_flags.h"
#include "stepscope/pipeline/history/runs.h"

namespace stepscope {

struct RunsFlags {
  RunsRequest request;  // what needs no understanding is written here at once
  std::string unit = "ms";
  StatisticsFlags statistics;
  std::string inconclusive = "fail";
  std::string restore;  // a run whose digests are wanted; empty: none
  std::string restored_to;
  OutputPaths out;
};

void declare(CLI::App& app, RunsFlags& flags);
// As understood. The errors say what is wrong and what to write.
[[nodiscard]] Result<RunsRequest> runs_request(const RunsFlags& flags);
// The same with --restore.
[[nodiscard]] Result<RestoreRequest> restore_request(const RunsFlags& flags);

}  // namespace stepscope
