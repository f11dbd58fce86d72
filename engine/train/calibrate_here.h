// SPDX-License-Identifier: Apache-2.0
// `stepscope calibrate` where it measures this machine.
#pragma once

#include "stepscope/verbs/calibrate/calibrate_flags.h"

namespace stepscope {

// Measures this machine, writes the machine file and the outputs; the exit code. Rank processes are
// copies of this command (comm/groups/shm_group.h), or what an MPI launcher has started.
[[nodiscard]] int calibrate_here(const CalibrateFlags& flags);

}  // namespace stepscope
