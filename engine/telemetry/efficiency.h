// SPDX-License-Identifier: Apache-2.0
// Rates, shares and efficiencies of a window, computed from its sums on request. A value is absent
// (std::nullopt) if the window or the references cannot give it. Nothing is clamped. The caller
// measures references (peak, links) on the machine in use; they are never constants of ours.
// Definitions: docs/reference/telemetry.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/telemetry/activity.h"
#include "engine/telemetry/job_window.h"
#include "stepscope/base/collective_kind.h"
#include "stepscope/base/quantity.h"
#include "stepscope/stats/decayed_ratio.h"

namespace stepscope {

// The expected time of a message: start + bytes / rate.
struct LinkReference {
  Seconds start{};
  ByteRate rate{};
};
// For one kind of collective in one group. Bytes are bus bytes (CollectiveTotals).
struct CollectiveReference {
  std::string group{};
  CollectiveKind kind = CollectiveKind::none;
  LinkReference link{};
};
struct ReferenceRates {
  std::optional<FlopRate> peak{};  // of one rank, in the type it computes in
  std::string peak_source{};       // "FMA loop, bf16, measured"
  std::vector<CollectiveReference> collectives{};
  std::array<std::optional<LinkReference>, transfer_direction_count> transfers{};
};

struct ThroughputMetrics {
  std::int64_t steps = 0;
  std::int64_t tokens = 0;
  Ns wall{};  // of the job: time that at least one step covers
  // The rates are absent where no token was reported.
  std::optional<double> tokens_per_second{};
  std::optional<double> tokens_per_second_per_rank{};
  // Tokens of forward passes over the time of forward passes, over all ranks; the same for
  // backward. Neither is a rate of training.
  std::optional<double> forward_tokens_per_second{};
  std::optional<double> backward_tokens_per_second{};
  std::optional<double> rolling_tokens_per_second{};  // last steps: sum of tokens / sum of wall
  std::optional<double> decayed_tokens_per_second{};  // older steps have less weight
  std::optional<double> peak_tokens_per_second{};     // best 10 consecutive steps, without warm-up
  std::optional<Ns> step_p50{};
  std::optional<Ns> step_p90{};
  std::optional<Ns> step_p99{};
};

struct ThroughputOptions {
  std::size_t rolling_steps = 10;
  std::optional<Seconds> rolling_time{};  // instead: steps that ended within this time
  std::size_t warm_up_steps = 3;
  Seconds decay{30};  // time constant
};
[[nodiscard]] ThroughputMetrics throughput(const JobWindow& window,
                                           const ThroughputOptions& options = {});

struct TransferLinkStats {
  TransferDirection direction{};
  TransferTotals sum{};                // over ranks
  std::optional<double> gb_per_s{};    // bytes / busy time of one rank; GB = 1e9 bytes
  std::optional<double> efficiency{};  // reference time / busy time; above 1: measure it again
};
struct MemoryTransferMetrics {
  std::vector<TransferLinkStats> links{};  // directions that were used
  Bytes bytes{};
  // The mean rate of a busy direction: bytes / sum of the busy times of all directions and ranks.
  std::optional<double> gb_per_s{};
  std::optional<double> efficiency{};  // over the directions with a reference
};
[[nodiscard]] MemoryTransferMetrics memory_transfers(const JobWindow& window,
                                                     const ReferenceRates& references = {});

struct CollectiveKindStats {
  JobCollective calls{};
  std::optional<double> busbw_gb_per_s{};  // bus bytes / transfer time of one rank
  std::optional<double> efficiency{};      // reference time / transfer time
  std::optional<Ns> p50{};                 // of a call, from submission to end
  std::optional<Ns> p99{};
};
struct CommunicationStats {
  std::vector<CollectiveKindStats> kinds{};
  std::uint64_t operations = 0;  // each once for all its members
  Bytes bytes{};                 // sum of the ranks' contributions to the buses
  // Reference time / transfer time, over the calls whose link has a reference and whose last
  // arrival is known. Above 1: measure the links again.
  std::optional<double> efficiency{};
  std::optional<double> efficiency_with_waiting{};  // the same over all calls, from submission
  // 1 - stall / time with a collective in flight, which is at least the stall.
  std::optional<double> overlap_efficiency{};
  std::optional<double> exposed_share{};  // of the ranks' wall: waits of the main thread
};
[[nodiscard]] CommunicationStats communication(const JobWindow& window,
                                               const ReferenceRates& references = {});

struct EfficiencyTerm {
  std::string_view name;
  double share = 0;  // of ranks × wall
};
struct OptimizationEfficiency {
  std::optional<double> mfu{};      // model FLOPs / (ranks × peak × wall)
  std::optional<double> hfu{};      // includes recomputation
  bool references_too_low = false;  // a share is above 1: measure the peak again
  // 1 = mfu + recompute + kernel_loss + exposed_communication + peer_wait + step_skew + transfers
  // + io + data + other, in this order. Empty without a peak.
  std::vector<EfficiencyTerm> terms{};
  std::optional<double> goodput{};  // wall of steps that no rank skipped / wall; absent by hand
  std::optional<double> prefetch_hit_rate{};  // share of the needed bytes
  std::optional<double> prefetch_hidden{};    // 1 - stall / service
  Bytes prefetch_wasted{};
  std::optional<double> imbalance{};  // longest / mean compute of a rank - 1
};
[[nodiscard]] OptimizationEfficiency optimization_efficiency(const JobWindow& window,
                                                             const ReferenceRates& references = {});

}  // namespace stepscope
