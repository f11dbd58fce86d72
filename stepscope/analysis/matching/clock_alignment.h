// SPDX-License-Identifier: Apache-2.0
// One time axis for the ranks of several hosts. All ranks leave a barrier-type collective together
// (all-reduce, all-gather, reduce-scatter, all-to-all, barrier), so the ends of each give the
// clocks' offsets and, over a long window, their drift. No end may come before a start of its
// collective; no receive may end before its send starts. Ranks of one host share a clock
// (host_clock.h).
//
// Corrections are applied only if four conditions hold. The first and the second half of the
// collectives give the same offsets. The offsets of each half bring the ends of the other half
// together. Causes come before effects. The offsets exceed the possible order of leaving a
// collective, which cannot be distinguished from an offset. Otherwise `reason` says why not, and
// the spread of the ends is the uncertainty of every skew.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/matching/collective_match.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/base/crew.h"
#include "stepscope/event/clock_correction.h"
#include "stepscope/say/message.h"

namespace stepscope {

struct HostAlignment {
  std::string host;        // empty: not in the trace; one rank
  std::vector<int> ranks;  // ascending
  // The lead of this clock over the first host's in the middle of the window, and its gain per
  // time. It is subtracted if applied; otherwise it is the estimate. Absent: nothing joins it to
  // the first host.
  std::optional<Ns> offset;
  double drift_ppm = 0;
  // Uncertainty of `offset`; if nothing is applied, the uncertainty of the clock itself.
  std::optional<Ns> uncertainty;
};

struct ClockAlignment {
  bool applied = false;
  Message reason;                    // why, or why not
  std::vector<HostAlignment> hosts;  // by lowest rank
  std::uint64_t collectives = 0;     // number of collectives that join hosts
  // Last - first end over hosts, as recorded: the mean over groups of hosts of their median.
  std::optional<Ns> spread;
  std::optional<Ns> spread_aligned;      // the same with offsets from other collectives
  std::vector<ClockCorrection> by_view;  // identities if nothing is applied
  Ns origin{};  // zero of the instants in the faces; zero if clocks are relative
};

[[nodiscard]] ClockAlignment align_clocks(std::span<const RankView> views,
                                          const CollectiveMatches& matches,
                                          const Workers& workers = {});

// Correct the results that were computed from a trace before its clock was corrected.
void apply_clock(RankIndex& index, const ClockCorrection& correction);
void apply_clock(Step& step, const ClockCorrection& correction);
void apply_clock(RankCalls& calls, const ClockCorrection& correction);

}  // namespace stepscope
