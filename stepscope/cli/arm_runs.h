// SPDX-License-Identifier: Apache-2.0
// Launches of commands whose step times are compared. A command says them in one of two ways:
// where it names {out}, it writes there, or to names that begin so ("{out}.json"): a trace or a
// directory of them, the JSON of `stepscope train`, or a list; else its output has lines that name
// them (read/log/step_times.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/cli/arm_inputs.h"

namespace stepscope {

// A folder for what launches write: `keep`, which is made, or a temporary one that is removed.
class LaunchFolder {
 public:
  [[nodiscard]] static Result<LaunchFolder> make(const std::string& keep);
  LaunchFolder(LaunchFolder&& other) noexcept;
  LaunchFolder& operator=(LaunchFolder&&) = delete;
  LaunchFolder(const LaunchFolder&) = delete;
  LaunchFolder& operator=(const LaunchFolder&) = delete;
  ~LaunchFolder();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  LaunchFolder(std::string path, bool keep) : path_(std::move(path)), keep_(keep) {}

  std::string path_;
  bool keep_;
};

struct LaunchOrder {
  std::vector<std::string> words;  // of the command, {out} in them
  std::string name;                // of the launch: "A 2"
  std::string folder;              // of its own, below a LaunchFolder
  std::optional<double> seconds;   // at most
};

// Runs it and reads what it says of its steps. Errors: it failed (with the last line it wrote), or
// names no step times.
[[nodiscard]] Result<LaunchSteps> run_launch(const LaunchOrder& order, const ArmSource& source,
                                             std::vector<std::string>& remarks);

// `text` with each `key` replaced.
[[nodiscard]] std::string replaced(std::string text, const std::string& key,
                                   const std::string& value);
// What a shell runs.
[[nodiscard]] std::vector<std::string> shell_words(const std::string& command);
// "launch 2 of 6: B 1" on standard error, where that is a terminal.
void show_launch(std::size_t number, std::size_t all, const std::string& name);

}  // namespace stepscope
