// SPDX-License-Identifier: Apache-2.0
// Launches of a program whose step times are compared: read from what they left, or started here. A
// command says its step times in one of two ways: where it names {out}, it writes there, or to
// names that begin so ("{out}.json"), a trace or a directory of traces, the JSON of `stepscope
// train`, or a list; else its output has lines that name them (read/log/step_times.h).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/runs/compare_runs.h"
#include "stepscope/base/progress.h"
#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"
#include "stepscope/read/log/step_times.h"
#include "stepscope/say/message.h"

namespace stepscope {

// How the inputs of launches are read.
struct LaunchReading {
  StepReading steps{};            // of logs and lists
  std::string step_annotation{};  // the annotation that marks steps in traces; empty: ProfilerStep
  std::string kernel_rules{};     // file of the user's rules of names; empty: none
  unsigned threads = 0;           // 0: all cores
};

// How commands are started.
struct LaunchLimits {
  std::size_t launches = 3;         // of each command
  std::optional<double> seconds{};  // that a launch may take; absent: no limit
  std::string keep{};  // directory where what the launches wrote stays; empty: a temporary one
};

// One launch from a file, a directory or a pattern. What can be read of damaged inputs is read;
// files that fail are in `failures`, and without any step the launch is absent. `remarks`: a unit
// that was assumed, rows that were left out.
[[nodiscard]] std::optional<LaunchSteps> read_launch(const std::string& input,
                                                     const LaunchReading& reading,
                                                     const Progress& progress, Messages& remarks,
                                                     std::vector<Error>& failures);

// The steps of analysed traces, as a launch. None where the ranks share no whole step. `ranks` are
// those that `job` was made from.
[[nodiscard]] LaunchSteps launch_of(const JobResult& job, std::span<const RankInput> ranks,
                                    std::string name);

// A list that was read, as a launch.
[[nodiscard]] LaunchSteps launch_of(StepTimes times, std::string name, Messages& remarks);

struct LaunchOrder {
  std::vector<std::string> words;  // of the command, {out} in them
  std::string name;                // of the launch: "A 2"
  std::string folder;              // of its own, below a LaunchFolder
  std::optional<double> seconds;   // at most
};

// Runs it and reads what it says of its steps. Errors: it failed (with the last line it wrote), or
// names no step times; interrupted.
[[nodiscard]] Result<LaunchSteps> run_launch(const LaunchOrder& order, const LaunchReading& reading,
                                             const Progress& progress, Messages& remarks);

// `text` with each `key` replaced.
[[nodiscard]] std::string replaced(std::string text, const std::string& key,
                                   const std::string& value);
// What a shell runs.
[[nodiscard]] std::vector<std::string> shell_words(const std::string& command);

// A command run to its end in a process group of its own, which ends with it.

struct ChildLimits {
  const StopFlag* stop = nullptr;      // once set, the whole group is ended: SIGTERM, after half
                                       // a second SIGKILL
  std::optional<double> seconds = {};  // the group is ended in the same way after this time
};

// Standard output and error go to the file `log`, standard input is empty. The exit status, 128 +
// signal where one ended it. Errors: it could not be started, was interrupted
// (ErrorCode::interrupted) or took too long.
[[nodiscard]] Result<int> run_child(const std::vector<std::string>& words, const std::string& log,
                                    const ChildLimits& limits);

}  // namespace stepscope
