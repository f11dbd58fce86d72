// SPDX-License-Identifier: Apache-2.0
// Runs a command in a process of its own and measures its resources.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "stepscope/base/result.h"

namespace stepscope::bench {

struct ProcessUse {
  std::string output;  // standard output
  int status = 0;      // exit status; 128 + signal if a signal ended it
  std::chrono::duration<double> wall{};
  std::chrono::duration<double> cpu{};  // user + system, all threads
  std::uint64_t peak_bytes = 0;         // peak resident set (VmHWM) of the process
};

[[nodiscard]] Result<ProcessUse> run_process(const std::vector<std::string>& command);

}  // namespace stepscope::bench
