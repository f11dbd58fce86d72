// SPDX-License-Identifier: Apache-2.0
// The single transfers of a job: the data for a fit of time against size.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/analysis/collectives/collectives.h"
#include "stepscope/analysis/collectives/ddp_buckets.h"
#include "stepscope/analysis/matching/collective_match.h"
#include "stepscope/base/enum_names.h"
#include "stepscope/base/quantity.h"

namespace stepscope {

enum class HostPlacement : std::uint8_t { unknown, one_host, several_hosts };
inline constexpr auto host_placement_names = enum_names<HostPlacement::several_hosts>;

// One matched collective with separate wait and transfer on every member.
struct Transfer {
  CollectiveKind kind = CollectiveKind::unknown;
  int group_size = 0;
  HostPlacement placement = HostPlacement::unknown;
  Bytes bytes{};  // S, the total buffer
  Ns time{};      // median over its ranks
};

// Instances of known size that took more than 0 ns. Messages that share a fused call are left out.
// Hosts come from host_clock.h. Several ranks of unknown host have an unknown placement.
[[nodiscard]] std::vector<Transfer> find_transfers(std::span<const RankView> views,
                                                   const Collectives& job);

// How fast each process group transfers, compared with its siblings: the groups of the same
// dimension and size. The comparison uses messages of one kind and size.

struct GroupRate {
  std::uint32_t group = 0;                        // row of CollectiveMatches::groups
  CollectiveKind kind = CollectiveKind::unknown;  // send and recv are one kind: send_recv
  Bytes bytes{};                                  // S, the total buffer of one call
  std::uint64_t count = 0;                        // instances with separate wait and transfer
  Ns transfer{};                                  // median over them of the median over ranks
  std::optional<ByteRate> busbw{};                // S / transfer × busbw_factor of the group's size
  std::optional<double> of_siblings{};  // the siblings' median transfer / its own: below 1 is slow.
                                        // Absent without a sibling that sends this message
};

// Sizes of a kind that are listed for the groups of one dimension and size: those that take most
// time, over all these groups.
inline constexpr std::size_t most_group_sizes = 8;

// By group, most transfer time first. Leaves out unknown groups and sizes and messages that share a
// fused call. O(instances × members).
[[nodiscard]] std::vector<GroupRate> group_rates(const Collectives& job);

// What a message takes however small it is: the intercept of time over size.

// Times by message size in bytes: the shortest, or the median, of each size.
using TimesOfSizes = std::map<std::int64_t, Ns>;

// The line through the smallest and the largest size at zero bytes, between zero and the time of
// the smallest. Empty unless the largest is at least twice the smallest: one size cannot separate
// latency from bandwidth.
[[nodiscard]] std::optional<Ns> latency_of(const TimesOfSizes& times);

// The algorithm of a communication kernel, from its name.
//
// NCCL compiles one kernel for several functions and calls the right one inside it, so most of a
// name says less than it seems to:
//   - "..._LL" is in the name for every protocol (src/device/generate.py, best_kernel: "LL" for
//     all; before 2.19 src/enqueue.cc, NCCL_FUNC5: kernels for LL alone). Only "LL128" and "SIMPLE"
//     name the protocol, and standard builds have neither.
//   - "ncclDevKernel_..._RING_LL" (since 2.19) is a ring, NVLS or CollNet; "..._TREE_LL" is a tree.
//   - "ncclKernel_..._TREE_LL_..." (2.8 to 2.18) names the algorithm: TREE, RING, NVLS, NVLS_TREE,
//     COLLNET; so does "ncclAllReduceRingLLKernel_sum_f32" (before).
//   - The newer names of all-gathers and reduce-scatters always contain RING.

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

// Calls of known size and group whose kernels' names show the algorithm.
[[nodiscard]] std::vector<NamedCalls> named_calls(std::span<const RankView> views,
                                                  const CollectiveMatches& matches);

// What the groups of a job sent, call by call.
struct JobTraffic {
  std::vector<Transfer> transfers;
  std::vector<GroupRate> rates;
  std::vector<NamedCalls> algorithms;           // of collectives whose kernels' names show it
  std::vector<std::vector<DdpBucket>> buckets;  // by rank
};

}  // namespace stepscope
