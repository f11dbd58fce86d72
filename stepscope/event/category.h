// SPDX-License-Identifier: Apache-2.0
// The kind of a slice. Only the trace's `cat` decides it. A stream argument does not decide about
// device work (Triton's host rows carry one), nor does the name.
#pragma once

#include <cstdint>
#include <string_view>

#include "stepscope/base/enum_names.h"

namespace stepscope {

enum class Category : std::uint8_t {
  cpu_op,           // ATen, autograd, c10d operators
  user_annotation,  // record_function, ProfilerStep, optimizer
  gpu_annotation,   // their span on a stream; repeats work that kernels already show
  python_function,  // with_stack frames
  runtime,          // CUDA / HIP / MTIA / XPU runtime calls
  driver,           // cuLaunchKernel(Ex) and other driver calls
  kernel,
  memcpy,
  memset,
  sync,            // cuda_sync: "Stream Wait Event", "Event Sync", "Stream Sync", "Context Sync"
  device_event,    // cuda_event: event records
  overhead,        // overhead of the profiler itself
  profiler_range,  // cuda_profiler_range: hardware counters of a kernel
  trace_window,    // `Trace`: the profiler's whole window
  other,           // any other complete slice on a host thread
};
inline constexpr auto category_names = enum_names<Category::other>;
inline constexpr std::size_t category_count = category_names.size();

// Whether the row is work that occupies a device.
constexpr bool is_device_work(Category c) {
  return c == Category::kernel || c == Category::memcpy || c == Category::memset;
}
constexpr bool is_host(Category c) {
  return c <= Category::driver && c != Category::gpu_annotation;
}

}  // namespace stepscope
