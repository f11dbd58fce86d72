// SPDX-License-Identifier: Apache-2.0
// The groups of collectives whose record names none: gloo's rows have a kind and a size. Three
// things tell. A gloo group works on worker threads of its own, two by default. They start when
// it is created, so threads and the file's list of groups have one order. All members of it run
// the same calls in the same order. Calls of an all-reduce on its members overlap and end nearly
// together; those of other groups do so only by chance.
//
// Each rank's threads are divided among its groups in order, so that the calls fit best to those of
// the neighbours within each group. The fit is a log-likelihood ratio: of the distance of two ends
// if the calls are one collective, and if they are not. What is not clear enough is left without a
// group, and said.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/matching/collective_calls.h"
#include "stepscope/event/clock_correction.h"

namespace stepscope {

// Calls of one rank whose group is not certain.
struct UnsureGroup {
  int rank = 0;
  std::size_t calls = 0;
  std::string groups;  // labels of those that fit about equally, the best first
};

// Sets the groups of calls of worker threads of views `of_capture`, and what complete_by_group()
// sets. `groups` are the job's, RankCalls::listed are rows of it; `clocks` and `ranks` are by view.
// O(calls × threads² × listed groups) per view: each is compared with two neighbours in a group.
[[nodiscard]] std::vector<UnsureGroup> find_loose_groups(std::span<const RankView> views,
                                                         std::span<const std::uint32_t> of_capture,
                                                         std::span<const CommGroup> groups,
                                                         std::span<const ClockCorrection> clocks,
                                                         std::span<RankCalls> ranks);

}  // namespace stepscope
