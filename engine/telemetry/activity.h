// SPDX-License-Identifier: Apache-2.0
// The activities and counters of one rank of a training job, as enums that index arrays, with their
// names in JSON and OpenMetrics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stepscope/base/enum_names.h"

namespace stepscope {

// The activity of a rank's main thread. It has exactly one at a time, so the times of a step sum to
// its wall time. Waits are the main thread's; work on other threads is not seen here.
enum class Activity : std::uint8_t {
  forward,
  backward,
  recompute,
  optimizer,
  wait_fetch,     // for parameters to be all-gathered
  wait_reduce,    // for gradients to be reduced
  wait_gather,    // for updated parameters after the step (stages 1, 2), and other collectives
  wait_transfer,  // host, device
  wait_io,        // NVMe, files, checkpoints
  data,
  other
};
inline constexpr auto activity_names = enum_names<Activity::other>;
inline constexpr std::size_t activity_count = activity_names.size();

enum class TransferDirection : std::uint8_t {
  host_to_device,
  device_to_host,
  nvme_to_host,
  host_to_nvme,
  nvme_to_device,
  device_to_nvme
};
inline constexpr auto transfer_direction_names = enum_names<TransferDirection::device_to_nvme>;
inline constexpr std::size_t transfer_direction_count = transfer_direction_names.size();

// The reason for a collective.
enum class CollectivePurpose : std::uint8_t { parameters, gradients, other };
inline constexpr auto collective_purpose_names = enum_names<CollectivePurpose::other>;
inline constexpr std::size_t collective_purpose_count = collective_purpose_names.size();

// hit: the unit was there when needed, no stall. late: on its way when needed. miss: requested only
// when needed. wasted: evicted without use.
enum class PrefetchOutcome : std::uint8_t { hit, late, miss, wasted };
inline constexpr std::size_t prefetch_outcome_count = 4;

enum class MemoryClass : std::uint8_t {
  parameters,
  gradients,
  optimizer_state,  // master weights and moments
  unit_pool,        // gathered units
  buckets,          // of collectives
  activations,
  scratch,
  staging,  // for offload
  other
};
inline constexpr auto memory_class_names = enum_names<MemoryClass::other>;
inline constexpr std::size_t memory_class_count = memory_class_names.size();

template <class Enum>
[[nodiscard]] constexpr std::size_t slot(Enum value) {
  return static_cast<std::size_t>(value);
}

}  // namespace stepscope
