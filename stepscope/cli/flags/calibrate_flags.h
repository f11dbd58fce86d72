// SPDX-License-Identifier: Apache-2.0
// The flags of `stepscope calibrate`, as typed, and the half of the verb that needs the engine.
#pragma once

#include <string>
#include <vector>

#include "stepscope/cli/flags/output_flags.h"

namespace stepscope {

struct CalibrateFlags {
  std::string file;
  int ranks = 0;
  std::string transport;  // as train's
  std::string drive;
  bool quick = false;
  std::vector<std::string> from;  // outputs of benchmarks, instead of measuring
  std::string machine;            // whose links those are
  int hosts = 0;
  OutputPaths out;
};

// Measures this machine, writes the machine file and the outputs; the exit code. Rank processes are
// copies of this command (comm/groups/shm_group.h), or what an MPI launcher has started. A build
// without the engine refuses.
[[nodiscard]] int calibrate_here(const CalibrateFlags& flags);

}  // namespace stepscope
