// SPDX-License-Identifier: Apache-2.0
// A collective or message with all that its children tell of it. NCCL ends the event of a call when
// it is enqueued; only its kernel's channels and its proxy operations say when it ran.
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
  bool called;            // `event` is there, not only children
  bool gpu_untimed;       // a channel did not tell the GPU's times
  std::uint32_t kernels;  // channels that have ended
  std::uint64_t gpu_first;
  std::uint64_t gpu_last;
  std::int64_t host_first;  // when the proxy's thread saw the channels begin and end
  std::int64_t host_last;
  ProxySums proxy;
  std::uint32_t correlation;  // of its rows
  std::int64_t touched;       // when the last of it came
  std::uint32_t older;        // list by `touched` of calls; slot + 1
  std::uint32_t newer;
};

// Where the times of an operation are from, best first.
enum class Timing : std::uint8_t { gpu, kernel_host, proxy, none };
[[nodiscard]] const char* timing_text(Timing timing);

struct DeviceTime {
  Timing timing = Timing::none;
  std::int64_t start = 0;  // ns, CLOCK_MONOTONIC
  std::int64_t stop = 0;
};
[[nodiscard]] DeviceTime device_time(const Operation& operation, const GpuClock& clock);

void add_kernel(Operation& operation, const Event& event);
void add_proxy(Operation& operation, const Event& event);
// Closes the wait that a step was in when it ended.
void close_wait(Event& step);
void add_step(ProxySums& sums, const Event& step);
void add_sums(ProxySums& into, const ProxySums& from);

}  // namespace stepscope::nccl
