// SPDX-License-Identifier: Apache-2.0
// How well the host keeps the device fed: launches and their slack, the length of the queue, time
// in calls that block or allocate, data loading, garbage collection, and the profiler's own
// overhead. A host row counts if it starts inside a step's annotation. A launch counts if its first
// device operation starts inside a step.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "stepscope/analysis/budget/allocation_retries.h"
#include "stepscope/analysis/budget/idle.h"
#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/event/trace.h"

namespace stepscope {

struct CallSum {
  StringId name = empty_string;
  std::uint64_t count = 0;
  Ns total{};
};

// Why a device was without work before an operation that its host launched late, over the steps.
// Communication that runs meanwhile is no work: it may wait for a host, too.
struct HostIdle {
  Ns launching{};   // until the launch has returned, and the usual latency after that
  Ns allocating{};  // of that time, in calls that allocate or free memory
  Ns late{};        // after it: the device has nothing to do, and yet the operation begins later
  std::uint64_t late_starts = 0;

  // What a launching thread that did nothing else would save, at most.
  [[nodiscard]] Ns without_allocations() const { return launching - allocating; }
};
[[nodiscard]] HostIdle host_idle(const Trace& trace, const RankIndex& rank,
                                 std::span<const Step> steps);

struct HostTable {
  // Runtime and driver calls that put work on a device (kernels, graphs, copies, memsets), if the
  // trace contains that work.
  std::uint64_t launches = 0;
  Ns launch_time{};
  // Slack of a kernel launch = start of its first kernel − end of the call. It is negative if the
  // kernel starts before the call returns. Empty without kernel launches.
  std::optional<Ns> slack_p10;
  std::optional<Ns> slack_p50;
  std::optional<Ns> slack_p90;
  // Length of the queue: launches that have returned but whose first operation has not started. The
  // mean is over the time of the steps. All GPUs of the rank count together. Empty without
  // launches.
  std::optional<double> queue_mean;
  std::uint64_t queue_max = 0;
  // Launches that began after their device had run out of work, and the idle time before their
  // first operations.
  std::uint64_t empty_queue_launches = 0;
  Ns starved{};
  // At least half of the launches met an empty queue, and `starved` is at least a tenth of the
  // steps.
  bool launch_bound = false;
  std::uint64_t negative_latencies = 0;  // operations that start before their launch: clock error
  Ns sync{};  // blocked in calls that wait for the device, summed over threads
  std::vector<CallSum> sync_calls;  // longest first, as all lists here
  Ns allocator{};
  std::vector<CallSum> allocator_calls;  // cudaMalloc, hipFree, …: the caching allocator missed
  Ns data{};                             // inside a data loader on the main thread
  Ns gc{};                               // Python's garbage collector, where the trace shows it
  Ns overhead{};                         // of the profiler itself, as a union
  HostIdle idle;
  // Empty where host_table() has filled the rest.
  AllocationRetries retries;
  GilWaits gil;
};

// True if a runtime or driver call allocates, frees or maps memory.
[[nodiscard]] bool is_allocator_call(std::string_view name);

// True if a host row is Python's garbage collector.
[[nodiscard]] bool is_garbage_collection(std::string_view name);

[[nodiscard]] HostTable host_table(const Trace& trace, const RankIndex& rank,
                                   std::span<const Step> steps);

}  // namespace stepscope
