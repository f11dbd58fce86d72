// SPDX-License-Identifier: Apache-2.0
// Measurements of this machine's cores, links and drives, as a machine for predict, plan, train and
// analyze. A device is one rank's core.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/dtype.h"
#include "stepscope/fit/compute_fit.h"
#include "stepscope/fit/link_fit.h"

namespace stepscope {

// All rates are per rank, measured while every rank does the same work.
struct Calibration {
  std::string name;                                               // of the machine
  std::string vendor;                                             // of its processor; may be empty
  int ranks = 1;                                                  // number measured at once
  Bytes memory{};                                                 // of the whole machine
  std::array<std::optional<FlopRate>, dtype_count> peaks{};       // of a loop of multiply-adds
  std::array<std::optional<FlopRate>, dtype_count> matmul_max{};  // largest product measured
  ByteRate memory_rate{};                                         // reads and writes together
  std::vector<OperationTiming> operations;
  std::vector<CollectiveTiming> collectives;  // between neighbours; only a group's size is read
  std::optional<Nvme> drive;
  std::vector<std::string> sources;  // method and time of the measurement; at least one
};

struct CalibratedMachine {
  Machine machine;
  double compute_error = 0;  // |modelled / measured - 1|, mean over the operations
  double link_error = 0;     // the same over the collectives
};

struct CalibrateResult {
  Calibration measured{};    // means over the ranks
  CalibratedMachine made{};  // machine_text() makes a file of its machine
};

// Errors: no peak at all, or no memory rate. With one rank there are no links.
[[nodiscard]] Result<CalibratedMachine> calibrated_machine(const Calibration& measured);

}  // namespace stepscope
