// SPDX-License-Identifier: Apache-2.0
// The algorithm of a communication kernel, from its name.
//
// NCCL compiles one kernel for several functions and calls the right one inside it, so most of a
// name tells less than it seems to:
//   - "..._LL" is in the name for every protocol (src/device/generate.py, best_kernel: "LL" for
//     all; before 2.19 src/enqueue.cc, NCCL_FUNC5: kernels for LL alone). Only "LL128" and "SIMPLE"
//     tell the protocol, and standard builds have neither.
//   - "ncclDevKernel_..._RING_LL" (since 2.19) is a ring, NVLS or CollNet; "..._TREE_LL" is a tree.
//   - "ncclKernel_..._TREE_LL_..." (2.8 to 2.18) names the algorithm: TREE, RING, NVLS, NVLS_TREE,
//     COLLNET; "ncclAllReduceRingLLKernel_sum_f32" (before) likewise.
//   - The newer names of all-gathers and reduce-scatters always contain RING.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "stepscope/analysis/matching/collective_match.h"

namespace stepscope {

enum class NamedAlgorithm : std::uint8_t {
  unknown,
  ring,
  not_tree,  // a ring, or inside the switches
  tree,
  in_switch  // NVLS, NVLS_TREE, COLLNET
};
inline constexpr std::array<std::string_view, 5> named_algorithm_names = {
    "unknown", "ring", "ring or in-network", "tree", "in-network"};
static_assert(named_algorithm_names[static_cast<std::size_t>(NamedAlgorithm::in_switch)] ==
              "in-network");

[[nodiscard]] NamedAlgorithm named_algorithm(std::string_view kernel, CollectiveKind kind);

// Calls of one collective, group and size that ran with one algorithm.
struct NamedCalls {
  CollectiveKind kind = CollectiveKind::unknown;
  std::uint32_t group = no_row;  // row of CollectiveMatches::groups
  Bytes bytes{};
  NamedAlgorithm algorithm = NamedAlgorithm::unknown;
  std::uint64_t calls = 0;  // over all ranks
};

// Calls of known size and group whose kernels' names tell the algorithm.
[[nodiscard]] std::vector<NamedCalls> named_calls(std::span<const RankView> views,
                                                  const CollectiveMatches& matches);

}  // namespace stepscope
