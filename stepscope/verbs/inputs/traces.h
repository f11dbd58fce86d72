// SPDX-License-Identifier: Apache-2.0
// Traces of one run, read for the verbs that ask about them: which files, ranks and steps.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/collectives/dimensions.h"
#include "stepscope/analysis/ranks/roles.h"
#include "stepscope/analysis/runs/job.h"
#include "stepscope/base/crew.h"
#include "stepscope/base/progress.h"
#include "stepscope/base/result.h"
#include "stepscope/diagnose/analysis.h"
#include "stepscope/event/gpu_log.h"
#include "stepscope/read/bytes/time_window.h"
#include "stepscope/read/files/read_trace.h"

namespace stepscope {

struct TracesRequest {
  std::vector<std::string> inputs{};         // files, directories or patterns, of one run
  std::optional<std::int64_t> first_step{};  // ProfilerStep number; absent: from the first one on
  std::optional<std::int64_t> last_step{};   // included; absent: to the last one
  std::set<int> ranks{};                     // empty: all
  std::optional<TimeWindow> window{};  // since the capture began; Nsight exports only; absent: all
  std::optional<Ns> gpu_log_zone{};    // the clocks of logs of GPUs minus UTC; absent: found
  std::string step_annotation{};       // the annotation that marks steps; empty: ProfilerStep
  std::string kernel_rules{};          // file of the user's rules of names; empty: none
  GroupDimensions dimensions{};        // which dimension a process group serves; empty: found
  ParallelSizes sizes{};               // where the traces do not show them
  std::vector<std::string> flags{};    // those above as a command line has them, to print commands
  std::set<std::string> refused{};     // files of `inputs` that are not read
  std::string reproducer{};  // file to write for a trace on which a check fails; empty: none
  unsigned threads = 0;      // 0: all cores
  Crew* crew = nullptr;      // processes that share the work; all of them make this request
};

struct ReadTraces {
  Run run;                            // owns the traces
  std::vector<InputRow> inputs;       // what became of each file
  std::vector<RankInput> ranks;       // those asked for, in `run`
  std::size_t ranks_left_out = 0;     // of `run`, which were not asked for
  std::vector<GpuLog> gpu_logs;       // that were among the inputs
  std::vector<Error> gpu_log_errors;  // logs of GPUs that say nothing
  double seconds = 0;                 // that reading took
  std::vector<Error> failures;        // files that could not be read
};

// Reads what can be read. `ranks` is empty where nothing is left; `failures` then say why. Errors:
// interrupted, wrong rules of names.
[[nodiscard]] Result<ReadTraces> read_traces(const TracesRequest& request,
                                             const Progress& progress);

struct AnalyzedTraces {
  ReadTraces read;
  JobResult job;
};

// Reads the traces and analyses their ranks with the options that `options` gives for them. A trace
// on which a check of ours fails is one of `failures`, and the others are read and analysed again
// without it. `request.reproducer` gets the rows on which the check fails. Errors: those of
// read_traces(), interrupted, a check that fails on all traces.
[[nodiscard]] Result<AnalyzedTraces> analyze_traces(
    TracesRequest request, const Progress& progress,
    const std::function<JobOptions(const ReadTraces& read)>& options);

// Why nothing is left where `ranks` is empty: the first failure, or that `input` holds no trace.
[[nodiscard]] Error no_ranks(std::span<const Error> failures, const std::string& input);

// What analyze_job() is to look at. `recorded_world`: the world size in the traces.
[[nodiscard]] JobOptions job_options(const TracesRequest& request, const Progress& progress,
                                     std::optional<int> recorded_world);

// Commands for the files of named folders that are neither traces nor logs of GPUs. None where
// processes share the work.
[[nodiscard]] std::vector<std::string> commands_for_other_files(const TracesRequest& request,
                                                                const ReadTraces& read);

// The threads to use: all cores unless the request says how many.
[[nodiscard]] unsigned threads_of(const TracesRequest& request);

// Why traces have no step that can be measured: the file that is cut off, or that the ranks share
// none; `input` is then named, or empty.
[[nodiscard]] Error no_whole_step(std::span<const InputRow> rows, const std::string& input);

// The error of a request for steps that the job does not have, though it recorded others.
[[nodiscard]] std::optional<Error> no_such_steps(const TracesRequest& request,
                                                 const JobResult& job);

// The same, and the error of groups or sizes of groups that the traces contradict.
[[nodiscard]] std::optional<Error> not_in_traces(const TracesRequest& request,
                                                 const JobResult& job);

}  // namespace stepscope
