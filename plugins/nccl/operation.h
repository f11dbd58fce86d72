// SPDX-License-Identifier: Apache-2.0
// A collective or message with the data of all its children. NCCL ends the event of a call when the
// call is enqueued. Only its kernel's channels and its proxy operations show when it ran.
#pragma once

#include <array>
#include <cstdint>

#include "plugins/nccl/event_pool.h"
#include "plugins/nccl/gpu_clock.h"

namespace stepscope::nccl {

struct ProxySums {
  std::uint32_t operations;
  std::uint32_t steps;
  std::int64_t first;  // ns
  std::int64_t last;
  std::uint64_t sent_bytes;
  std::uint64_t received_bytes;
  std::array<std::uint64_t, wait_count> waited_ns;
};

struct Operation {
  Event event;            // of the call; its `id` is the operation's
  bool called;            // `event` is known, not only children
  bool gpu_untimed;       // a channel lacks the GPU's times
  std::uint32_t kernels;  // channels that have ended
  std::uint64_t gpu_first;
  std::uint64_t gpu_last;
  std::int64_t host_first;  // the proxy's thread saw the channels begin and end
  std::int64_t host_last;
  ProxySums proxy;
  std::uint32_t correlation;  // of its rows
  std::int64_t touched;       // time of its last event
  std::uint32_t older;        // list by `touched` of calls; slot + 1
  std::uint32_t newer;
};

// The sources of an operation's times, best first.
enum class Timing : std::uint8_t { gpu, kernel_host, proxy, none };
[[nodiscard]] const char* timing_text(Timing timing);

struct DeviceTime {
  Timing timing = Timing::none;
  std::int64_t start = 0;  // ns, CLOCK_MONOTONIC
  std::int64_t stop = 0;
};
// `own_kernels`: NCCL gave the operation the times of its own kernels (Collector::misdated).
[[nodiscard]] DeviceTime device_time(const Operation& operation, const GpuClock& clock,
                                     bool own_kernels);

void add_kernel(Operation& operation, const Event& event);
void add_proxy(Operation& operation, const Event& event);
// Ends the wait that was open when a step ended.
void close_wait(Event& step);
void add_step(ProxySums& sums, const Event& step);
void add_sums(ProxySums& into, const ProxySums& from);

}  // namespace stepscope::nccl
