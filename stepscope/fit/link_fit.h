// SPDX-License-Identifier: Apache-2.0
// Calibration of links: the parameters of a network's timing that explain measured collectives.
// Residuals are relative (log of modelled over measured); a dense sweep weighs no more than a
// sparse one: each half octave of a kind and a group counts once.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "stepscope/base/collective_kind.h"
#include "stepscope/base/quantity.h"
#include "stepscope/cost/machine/interconnect.h"
#include "stepscope/cost/machine/links.h"
#include "stepscope/cost/time/collective_cost.h"

namespace stepscope {

struct CollectiveTiming {
  CollectiveKind kind = CollectiveKind::all_reduce;
  GroupPlacement group;
  Bytes bytes{};                         // total
  Seconds time{};                        // measured, above 0
  std::optional<Algorithm> algorithm{};  // where the source says which one ran
};

// Of what the network says: the fastest algorithm, or the one that ran. Absent where that one
// cannot run.
[[nodiscard]] std::optional<Seconds> modelled_time(const Network& network,
                                                   const CollectiveTiming& timing);

struct LinkFit {
  Network network;  // with the fitted timing
  // What the timings determine; the rest is absent and stays as it was.
  LinkTiming up;
  LinkTiming out;
  double mean_error = 0;  // |modelled / measured - 1| over the timings
};

struct LinkFitOptions {
  int starts = 3;  // of the search, the first from the network's own values
};

// Deterministic. Timings whose algorithm cannot run on the network are left out.
[[nodiscard]] LinkFit fit_links(const Network& network, std::span<const CollectiveTiming> timings,
                                const LinkFitOptions& options = {});

}  // namespace stepscope
