// SPDX-License-Identifier: Apache-2.0
// This machine as a machine file describes one: its cores, links and drives, measured on all ranks
// at once.
#pragma once

#include <string>

#include "engine/comm/communicator/communicator.h"
#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"
#include "stepscope/fit/calibration.h"

namespace stepscope {

struct CalibrateRequest {
  // The ranks that measure at once, all on this machine; null: one rank, without links. Each rank
  // calls calibrate().
  Communicator* comm = nullptr;
  std::string transport{};         // how the ranks are joined ("shm"), for the machine file
  std::string drive{};             // a directory whose drive is measured too; empty: none
  bool quick = false;              // seconds instead of half a minute, and coarser
  const StopFlag* stop = nullptr;  // ends the measurement with an error, `interrupted`
};

// The same at every rank. Errors: a rank is lost, the drive cannot be written, nothing was
// measured; interrupted.
[[nodiscard]] Result<CalibrateResult> calibrate(const CalibrateRequest& request);

}  // namespace stepscope
