// SPDX-License-Identifier: Apache-2.0
// `stepscope runs`: did the steps of a job change from run to run, and in what? Keeps the step
// times and findings of past runs in one file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/runs/compare_runs.h"
#include "stepscope/base/progress.h"
#include "stepscope/base/result.h"
#include "stepscope/say/message.h"
#include "stepscope/stats/change_points.h"
#include "stepscope/verbs/compare/compare.h"
#include "stepscope/verbs/inputs/job_description.h"
#include "stepscope/verbs/inputs/launches.h"
#include "stepscope/verbs/runs/history_file.h"

namespace stepscope {

struct RunsRequest {
  // Each folder in it and each file is one run: traces of its ranks, a log, a list of step times.
  std::string folder{};
  std::string history{};  // the file; empty: stepscope-runs.sqlite in the folder
  std::string commit{};   // of the runs that are new
  std::string tag{};      // of the runs that are new
  // Names runs by their tag, their commit or its beginning (7 letters or more), or their name: the
  // launches that every other run is compared with. Empty: each run is compared with the run
  // before.
  std::string baseline{};
  LaunchReading reading{};
  JobDescription job{};  // what the traces of new runs do not show
  CompareOptions options{};
  std::optional<double> max_regression{};  // of the newest run; share of one
};

struct RunRow {
  PastRun run;
  bool added = false;                 // by this call, or read again because its files changed
  bool baseline = false;              // one of the launches that the others are compared with
  double median_ns = 0;               // of the steps after warm-up
  std::optional<RatioTest> beside{};  // the run (B) compared with the baseline (A); absent: nothing
                                      // to compare it with
};

struct RunsResult {
  std::string version;
  std::string history;         // the file
  std::vector<RunRow> rows{};  // oldest first, at least one
  // The newest run compared with the baseline, with the parts of the step; absent: no comparison.
  std::optional<Comparison> newest{};
  std::vector<ChangePoint> changes{};  // of the medians over the runs; `at` is a row
  Messages warnings{};                 // files that are no runs, units that were assumed
  std::vector<Error> failures{};       // folders that could not be read
};

// New runs and runs whose files changed are read and stored; runs whose files are gone stay.
// Errors: the folder cannot be read, the history cannot be read or written, it has no runs, the
// baseline names none; interrupted (the runs that were read are stored).
[[nodiscard]] Result<RunsResult> runs(const RunsRequest& request, const Progress& progress = {});

struct RestoreRequest {
  std::string folder{};   // of the runs
  std::string history{};  // as in RunsRequest
  std::string run{};      // its name
  std::string output{};   // folder for the digests; it is made
};

struct RestoredRun {
  std::string version;
  std::string history;
  std::string run;
  std::string output;
  std::size_t digests = 0;
};

// Writes the digests of a past run to files, which the verbs that take traces read. Errors: there
// is no history, it cannot be read, it has no such run or no digests of it (refused), a file of
// another content is in the output folder, a file cannot be written.
[[nodiscard]] Result<RestoredRun> restore_run(const RestoreRequest& request);

}  // namespace stepscope
