// SPDX-License-Identifier: Apache-2.0
// Calibration of links: fits the parameters of a network's timing to measured collectives.
// Residuals are relative (log of modelled over measured). A dense sweep weighs no more than a
// sparse one: each half octave of a kind and a group counts once.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "stepscope/base/collective_kind.h"
#include "stepscope/base/quantity.h"
#include "stepscope/cost/machine/interconnect.h"
#include "stepscope/cost/machine/links.h"
#include "stepscope/cost/time/collective_cost.h"

namespace stepscope {

// The 10th and the 90th percentile of the times of repeated calls.
struct TimingSpread {
  Seconds low{};
  Seconds high{};
  std::size_t calls = 0;
};

struct CollectiveTiming {
  CollectiveKind kind = CollectiveKind::all_reduce;
  GroupPlacement group;
  Bytes bytes{};                         // total
  Seconds time{};                        // measured, above 0
  std::optional<Algorithm> algorithm{};  // if the source names the one that ran
  std::optional<TimingSpread> spread{};  // if single calls were timed
};

// The network's time: of the fastest algorithm, or of the one that ran. Absent if that one cannot
// run.
[[nodiscard]] std::optional<Seconds> modelled_time(const Network& network,
                                                   const CollectiveTiming& timing);

struct LinkFit {
  Network network;  // with the fitted timing
  // The parameters that the timings determine. The others are absent and stay as before.
  LinkTiming up;
  LinkTiming out;
  double mean_error = 0;  // |modelled / measured - 1| over the timings
};

struct LinkFitOptions {
  int starts = 3;  // of the search, the first from the network's own values
};

// Deterministic. Ignores timings whose algorithm cannot run on the network.
[[nodiscard]] LinkFit fit_links(const Network& network, std::span<const CollectiveTiming> timings,
                                const LinkFitOptions& options = {});

}  // namespace stepscope
