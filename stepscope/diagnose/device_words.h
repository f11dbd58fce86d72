// SPDX-License-Identifier: Apache-2.0
// What a device did apart from the work of its steps, in words: it waited for pages of managed
// memory, for its first context, or filled memory.
#pragma once

#include "stepscope/analysis/runs/job.h"
#include "stepscope/say/message.h"

namespace stepscope {

// Work that begins late on a free device: neither its host nor a synchronisation holds it back.
// Nothing unless it takes threshold::late_starts_told of a step.
[[nodiscard]] Message late_start_text(const JobResult& job);

// In the mean step, ns: devices that start launched work late although nothing runs on them. The
// host has done its part.
[[nodiscard]] double held_in(const JobResult& job);

// Kernels that start long after their launch returned although the device is idle: not the host's
// doing, nor what a launch costs.
[[nodiscard]] Message shared_device_text(const JobResult& job);
// Pages of managed memory that the driver moved; nothing without threshold::many_faults.
[[nodiscard]] Message managed_text(const JobResult& job);
[[nodiscard]] bool has_managed_memory(const JobResult& job);
// Whether each rank had a GPU and shows rows of its host only: what bound it is not known then.
[[nodiscard]] bool host_rows_only(const JobResult& job);
// That the recording has little but the creation of the device's context: one window without steps
// on each rank, whose device works for less than threshold::least_work of the recorded time.
[[nodiscard]] Message start_up_text(const JobResult& job);
// Why no step of the only rank is accounted for.
[[nodiscard]] Message no_step_text(const RankResult& rank);
// Whether what copies on the devices only sets memory.
[[nodiscard]] bool only_fills(const JobResult& job);
// What to record where the host shows calls of the device's runtime and nothing else.
[[nodiscard]] Message unseen_host_text(const JobResult& job);

}  // namespace stepscope
