// SPDX-License-Identifier: Apache-2.0
#include "plugins/nccl/operation.h"

#include <algorithm>

namespace stepscope::nccl {

const char* timing_text(Timing timing) {
  constexpr std::array<const char*, 4> texts = {"gpu", "kernel seen by host", "proxy", "none"};
  return texts[static_cast<std::size_t>(timing)];
}

DeviceTime device_time(const Operation& operation, const GpuClock& clock, bool own_kernels) {
  const bool timed = own_kernels && operation.kernels > 0;
  if (timed && !operation.gpu_untimed && clock.known())
    return {Timing::gpu, clock.to_host(operation.gpu_first), clock.to_host(operation.gpu_last)};
  if (timed) return {Timing::kernel_host, operation.host_first, operation.host_last};
  if (operation.proxy.operations > 0)
    return {Timing::proxy, operation.proxy.first, operation.proxy.last};
  return {};
}

void add_kernel(Operation& operation, const Event& event) {
  const KernelPayload& kernel = event.kernel;
  const bool first = operation.kernels++ == 0;
  operation.host_first = first ? event.start : std::min(operation.host_first, event.start);
  operation.host_last = std::max(operation.host_last, event.stop);
  if (kernel.gpu_start == 0 || kernel.gpu_stop < kernel.gpu_start) {
    operation.gpu_untimed = true;
    return;
  }
  operation.gpu_first =
      operation.gpu_last == 0 ? kernel.gpu_start : std::min(operation.gpu_first, kernel.gpu_start);
  operation.gpu_last = std::max(operation.gpu_last, kernel.gpu_stop);
}

void add_proxy(Operation& operation, const Event& event) {
  ProxySums& sums = operation.proxy;
  const std::int64_t begun = event.proxy.begun != 0 ? event.proxy.begun : event.start;
  sums.first = sums.operations == 0 ? begun : std::min(sums.first, begun);
  sums.last = std::max(sums.last, event.stop);
  ++sums.operations;
  (event.proxy.sends ? sums.sent_bytes : sums.received_bytes) += event.proxy.bytes;
}

void close_wait(Event& step) {
  ProxyPayload& proxy = step.proxy;
  if (proxy.wait < 0) return;
  proxy.waited_ns[static_cast<std::size_t>(proxy.wait)] +=
      static_cast<std::uint32_t>(std::max<std::int64_t>(0, step.stop - proxy.wait_since));
  proxy.wait = -1;
}

void add_step(ProxySums& sums, const Event& step) {
  ++sums.steps;
  (step.proxy.sends ? sums.sent_bytes : sums.received_bytes) += step.proxy.bytes;
  for (std::size_t i = 0; i < wait_count; ++i) sums.waited_ns[i] += step.proxy.waited_ns[i];
}

void add_sums(ProxySums& into, const ProxySums& from) {
  into.steps += from.steps;
  into.sent_bytes += from.sent_bytes;
  into.received_bytes += from.received_bytes;
  for (std::size_t i = 0; i < wait_count; ++i) into.waited_ns[i] += from.waited_ns[i];
}

}  // namespace stepscope::nccl
