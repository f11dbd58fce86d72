// SPDX-License-Identifier: Apache-2.0
// Time against size of measured transfers (stats/alpha_beta.h), one fit for each kind of
// collective, group size and placement; and the machine whose links explain the same transfers
// (link_fit.h). The fits cover the measured range and refuse to go far beyond it. The machine
// extends it to other groups through the timing model.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/collectives/transfers.h"
#include "stepscope/base/result.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/fit/link_fit.h"
#include "stepscope/stats/alpha_beta.h"

namespace stepscope {

struct TransferFit {
  CollectiveKind kind = CollectiveKind::unknown;
  int group_size = 0;
  HostPlacement placement = HostPlacement::unknown;
  AlphaBetaAnswer answer;          // bytes and seconds
  std::vector<SizedTime> typical;  // of each size
};

// Sorted by kind, group size, placement.
[[nodiscard]] std::vector<TransferFit> fit_transfers(std::span<const Transfer> transfers);
// The same for a sweep (stepscope calibrate, a table of timings). Placement is by domains.
[[nodiscard]] std::vector<TransferFit> fit_transfers(std::span<const CollectiveTiming> timings);

// Absent if the fit was refused or does not reach this size.
[[nodiscard]] std::optional<Seconds> predicted_time(const TransferFit& fit, Bytes size);

// The reason why there is no fit; empty if there is one.
[[nodiscard]] std::string refusal_text(const AlphaBetaAnswer& answer);

// The rate, GB/s, of a slope in seconds a byte; absent where that is not positive.
[[nodiscard]] std::optional<double> gb_per_second(double slope);

struct FittedMachine {
  Machine machine;
  std::size_t timings = 0;    // number of timings in the fit: one per size, kind and group
  double mean_error = 0;      // |modelled / measured - 1|
  double reached_inside = 1;  // share of the rated bandwidth that the machine's links got
  double reached_across = 1;
};

// `base` with its link timing fitted to these timings, whose groups are placed on the links. Links
// that reach less than half of their rate get the rate that they reach.
// Errors: no links, or no timing that they can explain.
[[nodiscard]] Result<FittedMachine> fitted_machine(const Machine& base,
                                                   std::span<const CollectiveTiming> timings,
                                                   const std::string& source);
// `base` with its link timing fitted to the job's transfers. `source` names their origin and is
// stored in the file. Errors: no links, or no transfer of known size and placement.
[[nodiscard]] Result<FittedMachine> fitted_machine(const Machine& base,
                                                   const Collectives& collectives,
                                                   std::optional<int> world_size,
                                                   const std::string& source);

}  // namespace stepscope
