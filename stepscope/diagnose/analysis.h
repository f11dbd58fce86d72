// SPDX-License-Identifier: Apache-2.0
// What `stepscope analyze` found: the account of the job, and what it means. Terminal, JSON, CSV
// and page show this and nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/diagnose/finding.h"
#include "stepscope/diagnose/verdict.h"
#include "stepscope/fit/expectation.h"
#include "stepscope/fit/mfu_budget.h"
#include "stepscope/fit/transfer_fit.h"
#include "stepscope/say/message.h"

namespace stepscope {

// One input file and what became of it.
struct InputRow {
  std::string path;
  std::string format;
  std::optional<int> rank;
  // "metadata", "file_name", "only_file", "order"; empty for a file that failed
  std::string rank_source;
  std::string clock;  // "unix", "relative"; empty for a file that failed
  std::uint64_t file_bytes = 0;
  std::uint64_t text_bytes = 0;
  std::uint64_t events = 0;
  bool truncated = false;
  std::optional<std::uint64_t> cut_at{};  // byte of the (inflated) text where a truncated file ends
  bool packed_cut = false;  // a compressed file that itself ends there, after `file_bytes`
  std::map<std::string, std::uint64_t> notes;
  std::optional<std::string> error;
};

// One of several jobs that the inputs hold.
struct JobRow {
  std::string command;  // that analyses it alone
  std::size_t files = 0;
  std::optional<int> world_size{};  // by the metadata
  std::uint64_t steps = 0;          // that its files mark; 0: none, or the format has no marks
  std::optional<Ns> begin{};        // of the recording, since the epoch
};

// Names of job.ranks lie in the string pools of the traces.
struct Analysis {
  std::string version;
  std::vector<InputRow> inputs;
  std::vector<JobRow> jobs;       // where the inputs hold several: the analysed one first
  std::string traces = "TRACES";  // inputs and flags as a shell takes them, to print commands
  JobResult job;
  std::optional<int> world_size;
  std::optional<Machine> machine;  // of the ranks' GPU; absent = not in the catalogue
  std::optional<FlopRate> peak_override;
  std::optional<double> price_per_gpu_hour;
  std::optional<MfuBudget> mfu;
  std::optional<Expectation> expected;  // absent: no machine is known
  std::string step_annotation;          // --step-annotation; empty = ProfilerStep
  std::vector<TransferFit> link_fits;
  JobVerdict answer;
  std::vector<Finding> findings;  // largest gain first
  Messages warnings;
  double read_seconds = 0;
};

// The devices of the whole job.
[[nodiscard]] inline int devices_of(const Analysis& a) {
  return a.world_size.value_or(static_cast<int>(a.job.ranks.size()));
}

}  // namespace stepscope
