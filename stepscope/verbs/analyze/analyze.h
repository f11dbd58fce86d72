// SPDX-License-Identifier: Apache-2.0
// `stepscope analyze`: where does each training step go? From the traces of many ranks to the
// account of the job and what it means.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepscope/base/progress.h"
#include "stepscope/base/result.h"
#include "stepscope/diagnose/analysis.h"
#include "stepscope/fit/transfer_fit.h"
#include "stepscope/verbs/inputs/job_description.h"
#include "stepscope/verbs/inputs/traces.h"
#include "stepscope/write/job_program.h"

namespace stepscope {

struct AnalyzeRequest {
  TracesRequest traces{};
  JobDescription job{};   // what the traces do not show
  bool timeline = false;  // also the reduced timeline that the page draws
  bool program = false;   // also the steps as a program for simulators
  bool details = true;    // of the rows in AnalyzeResult::run stay, for who reads them again
};

struct AnalyzeResult {
  Analysis analysis;
  std::vector<Error> failures{};  // what could not be read or answered while the rest was
  Run run{};  // the traces, which own the names that `analysis` refers to; instants are corrected
              // where clocks are aligned
  std::vector<RankInput> ranks{};       // of `run`, those analysed
  std::optional<JobProgram> program{};  // where asked for; absent without a replay
};

// Errors: wrong usage (a model, machine or plan that does not exist), interrupted. Inputs that
// cannot be read are failures; if no input is left, the analysis has no ranks.
[[nodiscard]] Result<AnalyzeResult> analyze(const AnalyzeRequest& request,
                                            const Progress& progress = {});

// Adds the reduced timeline that the page draws where the request, that of the result, did not ask
// for it.
void add_timeline(const AnalyzeRequest& request, AnalyzeResult& result);

// The machine of the analysis with its links as the measured transfers show them; for a machine
// file. Errors: the device is not in the catalogue, or no transfer shows a link.
[[nodiscard]] Result<FittedMachine> machine_of_transfers(const Analysis& analysis);

}  // namespace stepscope
