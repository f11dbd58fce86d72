// SPDX-License-Identifier: Apache-2.0
// A summary of a profile's threads: shares by phase and pass, and the most expensive functions. A
// share is always of one thread or of its busy weight (without idle samples and samples without
// shown stacks). Summed over all threads, everything would look idle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/stack/phases_of.h"

namespace stepscope {

struct PhaseWeight {
  std::uint32_t phase = 0;
  std::uint32_t pass = 0;
  double weight = 0;
};

struct ThreadSummary {
  std::uint32_t thread = 0;  // index in Profile::threads
  double weight = 0;
  double busy = 0;  // weight without idle and hidden samples
  double idle = 0;
  double hidden = 0;
  std::vector<PhaseWeight> phases{};  // by phase and pass, largest first; sums to weight
};

struct FunctionWeight {
  StringId frame;
  std::optional<std::uint32_t> phase{};  // with most of its own weight; absent without any
  double phase_weight = 0;               // its own weight in that phase
  double self = 0;
  double total = 0;  // including callees; recursion once; summed over threads
};

struct StackSummary {
  double weight = 0;
  double busy = 0;
  double idle = 0;
  double hidden = 0;
  std::vector<ThreadSummary> threads;     // as in the profile, but busiest first
  std::vector<PhaseWeight> phases;        // over all threads, by phase and pass
  std::vector<FunctionWeight> functions;  // by own weight, largest first
};

[[nodiscard]] StackSummary summarize(const Profile& profile, const PhaseRules& rules,
                                     const NodePhases& phases);

// The number of threads with a shown stack. The others are what an excerpt leaves out of a process
// or of the whole.
[[nodiscard]] std::size_t shown_threads(const StackSummary& summary);

// Weights of one phase over its passes, largest first.
[[nodiscard]] std::vector<PhaseWeight> by_phase(std::span<const PhaseWeight> weights);

// Stacks from the innermost frame: its callers are below it, `depth` frames deep, without stacks
// below `least` of the weight. The children of the root are the innermost frames.
[[nodiscard]] CallTree bottom_up(const Profile& profile, std::uint32_t depth, double least);

}  // namespace stepscope
