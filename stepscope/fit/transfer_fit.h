// SPDX-License-Identifier: Apache-2.0
// Time against size of measured transfers (stats/alpha_beta.h), one fit for each kind of
// collective, group size and placement; and the machine whose links explain the same transfers
// (link_fit.h). The first says what was measured and refuses to go far beyond it; the second
// carries it to other groups through the timing model.
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

// By kind, group size, placement.
[[nodiscard]] std::vector<TransferFit> fit_transfers(std::span<const Transfer> transfers,
                                                     const AlphaBetaOptions& options = {});
// The same of a sweep (stepscope calibrate, a table of timings): placement by its domains.
[[nodiscard]] std::vector<TransferFit> fit_transfers(std::span<const CollectiveTiming> timings,
                                                     const AlphaBetaOptions& options = {});

// Absent where the fit was refused, or does not reach so far.
[[nodiscard]] std::optional<Seconds> predicted_time(const TransferFit& fit, Bytes size);

// Why there is no fit; empty where there is one.
[[nodiscard]] std::string refusal_text(const AlphaBetaAnswer& answer);

// The rate, GB/s, of a slope in seconds a byte; absent where that is not positive.
[[nodiscard]] std::optional<double> gb_per_second(double slope);

struct FittedMachine {
  Machine machine;
  std::size_t timings = 0;  // that it was fitted to: one a size, kind and group
  double mean_error = 0;    // |modelled / measured - 1|
};

// `base` with the timing of its links fitted to these, whose groups lie on them. Error: no links,
// or no timing that they can explain.
[[nodiscard]] Result<FittedMachine> fitted_machine(const Machine& base,
                                                   std::span<const CollectiveTiming> timings,
                                                   const std::string& source);
// `base` with the timing of its links fitted to the job's transfers. `source` says where they are
// from and goes into the file. Error: no links, or no transfer whose size and placement are known.
[[nodiscard]] Result<FittedMachine> fitted_machine(const Machine& base,
                                                   const Collectives& collectives,
                                                   std::optional<int> world_size,
                                                   const std::string& source);

}  // namespace stepscope
