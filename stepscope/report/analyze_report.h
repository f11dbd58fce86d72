// SPDX-License-Identifier: Apache-2.0
// What `stepscope analyze` has to say, before it takes a form: every face (terminal, JSON, CSV,
// HTML) shows this and nothing else. Refers to what the caller owns.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/fit/expectation.h"
#include "stepscope/fit/mfu_budget.h"
#include "stepscope/fit/transfer_fit.h"
#include "stepscope/report/answer.h"
#include "stepscope/report/findings.h"

namespace stepscope {

// One input file and what became of it.
struct InputRow {
  std::string path;
  std::string format;
  std::optional<int> rank;
  std::string
      rank_source;    // "metadata", "file_name", "only_file", "order"; empty for a file that failed
  std::string clock;  // "unix", "relative"; empty for a file that failed
  std::uint64_t file_bytes = 0;
  std::uint64_t text_bytes = 0;
  std::uint64_t events = 0;
  bool truncated = false;
  std::map<std::string, std::uint64_t> notes;
  std::optional<std::string> error;
};

struct AnalyzeReport {
  std::string version;
  std::vector<InputRow> inputs;
  const JobResult* job = nullptr;
  std::optional<int> world_size;
  const Machine* machine = nullptr;  // of the ranks' GPU, null = not in the catalogue
  std::optional<FlopRate> peak_override;
  std::optional<MfuBudget> mfu;
  std::optional<Expectation> expected;  // absent: no machine is known
  std::string step_annotation;          // --step-annotation; empty = ProfilerStep
  std::vector<TransferFit> link_fits;
  Answer answer;
  std::vector<Finding> findings;  // largest gain first
  std::vector<std::string> warnings;
  double read_seconds = 0;
};

}  // namespace stepscope
