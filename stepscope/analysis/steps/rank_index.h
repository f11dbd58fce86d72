// SPDX-License-Identifier: Apache-2.0
// The basis of nearly every question about one rank: its device operations in time order, the
// launch of each operation, and the main host thread. Built once per trace and passed together with
// it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <ranges>
#include <string_view>
#include <type_traits>
#include <vector>

#include "stepscope/base/string_pool.h"
#include "stepscope/event/trace.h"

namespace stepscope {

// All device work of one GPU over all its streams.
struct DeviceLane {
  int device = -1;
  std::vector<SliceId>
      ops{};   // kernels, copies and memsets by start; those of a stream may overlap
  Ns start{};  // start of the first operation
  Ns end{};    // end of the operation that ends last
};

struct RankIndex {
  std::vector<DeviceLane> devices;  // by device index; only those with work
  // By slice id after `first_device`: the runtime or driver call that launched a device slice,
  // joined by correlation within the file. no_slice for host slices and for work whose launch is
  // not in the trace. All kernels of one CUDA-graph launch share its call. Empty if the trace has
  // no device work.
  std::vector<SliceId> launch_of;
  std::uint32_t first_device = 0;  // slice id of the first row of a device
  // Device work whose launch is not in the trace, as what was launched before the recording, by
  // slice id. Recorders number calls in their order; the operation has the number of its call.
  // Empty if the numbers do not grow along the streams (more than one in a hundred falls), or if
  // most work has no launch.
  struct Unlaunched {
    SliceId op = no_slice;
    std::uint32_t number = 0;
  };
  std::vector<Unlaunched> unlaunched;
  std::vector<TrackId> host_tracks;  // threads with at least one host row
  // The thread of the ProfilerSteps; else the thread with most operator time outside the backward
  // graph; else the thread with most time in ranges and calls of the device's runtime.
  std::optional<TrackId> main_track;
  Ns start{};  // first start and last end of any slice
  Ns end{};
  // Calls that launch kernels without a row of the device, by start: the recording lost them.
  // Launches into a graph that is being captured run nothing and are not among them, nor are
  // launches inside another launch, nor calls that the writer never joins with rows.
  std::vector<SliceId> lost_launches;

  [[nodiscard]] bool cpu_only() const { return devices.empty(); }
  // The lane of a device; nullptr if it has no work.
  [[nodiscard]] const DeviceLane* lane(int device) const {
    const auto at = std::ranges::lower_bound(devices, device, {}, &DeviceLane::device);
    return at == devices.end() || at->device != device ? nullptr : &*at;
  }
  // The work of all devices, one device after the other.
  [[nodiscard]] auto operations() const {
    return devices | std::views::transform(&DeviceLane::ops) | std::views::join;
  }
  // Kernels were launched, but the trace has no row of any: the device was not recorded.
  [[nodiscard]] bool device_unseen() const { return devices.empty() && !lost_launches.empty(); }
  [[nodiscard]] SliceId launch(SliceId op) const {
    const std::uint32_t at = index(op) - first_device;  // wraps for rows before it
    return at < launch_of.size() ? launch_of[at] : no_slice;
  }
  // The number of the launch call if that is not in the trace; 0 if it is, or if the number is
  // unknown.
  [[nodiscard]] std::uint32_t launch_number(SliceId op) const {
    const auto at = std::ranges::lower_bound(unlaunched, op, {}, &Unlaunched::op);
    return at == unlaunched.end() || at->op != op ? 0 : at->number;
  }
};

[[nodiscard]] RankIndex index_rank(const Trace& trace);

// What `of_name` gives for each distinct name, indexed by StringId.
template <class OfName>
[[nodiscard]] auto by_name(const StringPool& names, OfName&& of_name) {
  std::vector<std::decay_t<decltype(of_name(std::string_view()))>> values(names.size());
  for (std::uint32_t i = 0; i < names.size(); ++i) values[i] = of_name(names[StringId{i}]);
  return values;
}

// Whether a row belongs to a host thread.
constexpr bool is_host_row(Category c) { return is_host(c) || c == Category::other; }
// Whether a row is a call of the device's runtime or driver.
constexpr bool is_call(Category c) { return c == Category::runtime || c == Category::driver; }
// True if a runtime or driver call launches kernels: cudaLaunchKernelExC, hipModuleLaunchKernel,
// cudaGraphLaunch.
[[nodiscard]] bool is_launch_call(std::string_view name);
// Whether a device row moves managed memory, by its name of an Nsight export. No call launches it:
// the driver does so, most often on a page fault.
[[nodiscard]] bool is_migration(std::string_view name);
// True if it launches a graph.
[[nodiscard]] bool is_graph_launch(std::string_view name);

// When launches go into a graph and run nothing. Other threads, such as that of the backward graph,
// launch into the same capture. One without an end lasts to Ns::max(). O(rows of calls).
struct GraphCapture {
  Ns start{};
  Ns end{};
};
[[nodiscard]] std::vector<GraphCapture> graph_captures(const Trace& trace);

// The class of kernels from what launched them. The rules of names (event/name_rules.h) classify
// most kernels. The operator around the launch decides if a name shows no class, or shows only the
// form of the work:
//
// | the kernel's name says | the operator says | class |
// |---|---|---|
// | nothing (`other`) | any class but communication, wait and other | the operator's |
// | `reduction`, `softmax` | matmul or attention | the operator's: a part of the product, as the
// sum of split-K | | `reduction`, `elementwise`, `copy` or `other` | quantize or routing | the
// operator's | | anything else | anything | the name's: a layout copy or a bias next to a product
// is no product |
//
// The operator is the innermost one with a class around the launch call. Operators around it count
// only for the classes whose helpers belong to them (attention, norm, softmax, quantize, routing,
// optimizer, embedding, loss), and only where no operator between says more: the sum of a bias's
// gradient inside AddmmBackward is no product. A user's annotation counts for the optimizer alone,
// and nothing counts for the kernels of a CUDA graph.
//
// The shape of a launch (grid, block, registers, shared memory) is no evidence: it does not
// distinguish matrix products from attention, nor either from a fused kernel.

// Changes Slices::kind of kernels. O(rows of the host) if a kernel's class is open.
void classify_by_launch(Trace& trace, const RankIndex& rank);

// Rows of a communication backend ("gloo:all_reduce", "nccl:send 0->1"). On a CPU such a row is a
// collective in flight: it lasts until the collective is done or collected, and does not hold the
// thread that it is on.

[[nodiscard]] bool is_backend_row(std::string_view name);
[[nodiscard]] std::vector<bool> backend_row_names(const StringPool& strings);

}  // namespace stepscope
