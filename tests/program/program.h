// SPDX-License-Identifier: Apache-2.0
// The stepscope program as its users run it: a process, its exit code, what it printed, and the
// JSON it wrote.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace stepscope::program {

struct Outcome {
  int exit_code = -1;  // -1: it could not be started, or a signal ended it
  double seconds = 0;
  std::string printed;  // standard output
  std::string errors;   // standard error
};

// Runs the program that was built with these tests; behind a launcher's words (path first) if any.
[[nodiscard]] Outcome run(const std::vector<std::string>& arguments,
                          const std::vector<std::string>& launcher = {});

struct Analysis {
  Outcome outcome;
  nlohmann::json json;  // null where none was written
};

// `analyze files… --json`, with further flags.
[[nodiscard]] Analysis analyze(const std::vector<std::filesystem::path>& files,
                               const std::vector<std::string>& flags = {});

// A folder of its own, removed with what it holds.
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
