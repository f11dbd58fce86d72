// SPDX-License-Identifier: Apache-2.0
// The flags of `stepscope calibrate`, as typed, and the half of the verb that needs the engine.
#pragma once

#include <string>
#include <vector>

#include "stepscope/face/help/output_flags.h"

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
  int gpus_per_node = 0;
  std::string collective;  // of tables that name none
  std::string unit = "s";  // of tables' times without one
  OutputPaths out;
};

// The half of the verb that measures this machine and needs the engine. A build without it refuses.
void offer_measuring(int (*here)(const CalibrateFlags& flags));

}  // namespace stepscope
