// SPDX-License-Identifier: Apache-2.0
// This machine as a machine file describes one: its cores, links and drives, measured on all ranks
// at once.
#pragma once

#include <string>

#include "stepscope/base/progress.h"
#include "stepscope/base/result.h"
#include "stepscope/comm/communicator/communicator.h"
#include "stepscope/fit/calibration.h"

namespace stepscope {

struct CalibrateRequest {
  // The ranks that measure at once, all on this machine; null: one rank, without links. Each rank
  // calls calibrate().
  Communicator* comm = nullptr;
  std::string transport{};  // how the ranks are joined ("shm"), for the machine file
  std::string drive{};      // a directory whose drive is measured too; empty: none
  bool quick = false;       // seconds instead of half a minute, and coarser
};

struct CalibrateResult {
  Calibration measured{};    // means over the ranks
  CalibratedMachine made{};  // machine_text() makes a file of its machine
};

// The same at every rank. Errors: a rank is lost, the drive cannot be written, nothing was
// measured; interrupted.
[[nodiscard]] Result<CalibrateResult> calibrate(const CalibrateRequest& request,
                                                const Progress& progress = {});

}  // namespace stepscope
