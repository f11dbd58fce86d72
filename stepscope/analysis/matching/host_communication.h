// SPDX-License-Identifier: Apache-2.0
// Host rows about communication (c10d operators, record_param_comms, "nccl:all_reduce"), with a
// lookup of the rows around a kernel's launch.
#pragma once

#include <cstdint>
#include <vector>

#include "stepscope/event/trace.h"

namespace stepscope {

enum class HostForm : std::uint8_t {
  backend,  // "nccl:all_reduce", "gloo:broadcast": the process group's own row
  params,   // carries a Collective ("record_param_comms")
  op,       // any other: "c10d::allreduce_"
};

struct HostRow {
  SliceId slice = no_slice;
  HostForm form = HostForm::op;
  bool enqueues = false;  // a device's backend ("nccl:"): the row is the launch, not the collective
  CollectiveKind kind = CollectiveKind::unknown;  // from the name or the metadata
  const Collective* meta = nullptr;
};

struct HostCommunication {
  std::vector<HostRow> rows;  // by slice: by thread, then start, outer before inner

  // Indices into `rows` of this thread's rows that contain the instant, innermost first.
  [[nodiscard]] std::vector<std::uint32_t> around(const Trace& trace, TrackId thread, Ns t) const;
};

// Excludes rows that only wait for a collective.
[[nodiscard]] HostCommunication find_host_communication(const Trace& trace,
                                                        const std::vector<TrackId>& threads);

}  // namespace stepscope
