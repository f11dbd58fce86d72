// SPDX-License-Identifier: Apache-2.0
// One time axis for the ranks of several hosts. All ranks leave a barrier-type collective together
// (all-reduce, all-gather, reduce-scatter, all-to-all, barrier), so the ends of each give the
// clocks' offsets and, over a long window, their drift; no end may come before a start of its
// collective, nor a receive end before its send starts. Ranks of one host share a clock
// (host_clock.h).
//
// Applied only where the first and the second half of the collectives give the same offsets, each
// half's offsets bring the other half's ends together, causes come before effects, and the offsets
// are more than the order of leaving a collective can be (it cannot be told from an offset);
// otherwise the reason is said, and the ends' spread stays the uncertainty of every skew.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/matching/collective_match.h"
#include "stepscope/analysis/steps/rank_view.h"
#include "stepscope/event/clock_correction.h"

namespace stepscope {

struct HostAlignment {
  std::string host;        // empty: the trace does not say, one rank
  std::vector<int> ranks;  // ascending
  // What its clock is ahead of the first host's in the middle of the window, and gains on it; taken
  // off where applied, else what was found. Absent: nothing joins it to the first host.
  std::optional<Ns> offset;
  double drift_ppm = 0;
  // What the figure may be off by; where nothing is applied, what the clock itself may be.
  std::optional<Ns> uncertainty;
};

struct ClockAlignment {
  bool applied = false;
  std::string reason;                    // one sentence, why or why not
  std::vector<HostAlignment> hosts;      // by lowest rank
  std::uint64_t collectives = 0;         // that join hosts
  std::optional<Ns> spread;              // median of last - first end over hosts, as recorded
  std::optional<Ns> spread_aligned;      // the same with offsets that other collectives gave
  std::vector<ClockCorrection> by_view;  // identities where nothing is applied
};

[[nodiscard]] ClockAlignment align_clocks(std::span<const RankView> views,
                                          const CollectiveMatches& matches);

// What was computed of a trace before its clock was corrected.
void apply_clock(RankIndex& index, const ClockCorrection& correction);
void apply_clock(Step& step, const ClockCorrection& correction);
void apply_clock(RankCalls& calls, const ClockCorrection& correction);

}  // namespace stepscope
