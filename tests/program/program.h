// SPDX-License-Identifier: Apache-2.0
// Runs the stepscope program as a process and returns its exit code, its output, and the JSON that
// it wrote.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace stepscope::program {

struct Outcome {
  int exit_code = -1;  // -1: not started, or ended by a signal
  double seconds = 0;
  std::string printed;  // standard output
  std::string errors;   // standard error
};

// Runs the program built with these tests, or the one that the environment's STEPSCOPE_PROGRAM
// names, after a launcher's words (path first) if given.
[[nodiscard]] Outcome run(const std::vector<std::string>& arguments,
                          const std::vector<std::string>& launcher = {});

struct Analysis {
  Outcome outcome;
  nlohmann::json json;  // null if no JSON was written
};

// `analyze files… --json` with more flags.
[[nodiscard]] Analysis analyze(const std::vector<std::filesystem::path>& files,
                               const std::vector<std::string>& flags = {});

// A temporary folder, removed with its contents.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace stepscope::program
