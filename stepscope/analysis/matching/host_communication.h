// SPDX-License-Identifier: Apache-2.0
// Host rows about communication (c10d operators, record_param_comms, "nccl:all_reduce"), with a
// lookup of the rows around a kernel's launch.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stepscope/analysis/matching/message_size.h"
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
  std::optional<NamedSize> size{};  // in its name
};

struct HostCommunication {
  std::vector<HostRow> rows;  // by slice: by thread, then start, outer before inner

  // Indices into `rows` of this thread's rows that contain the instant, innermost first.
  [[nodiscard]] std::vector<std::uint32_t> around(const Trace& trace, TrackId thread, Ns t) const;
};

// Excludes rows that only wait for a collective.
[[nodiscard]] HostCommunication find_host_communication(const Trace& trace,
                                                        const std::vector<TrackId>& threads);

// The calls of a rank without a device, each with the operator that asked for it. A backend's row
// ("gloo:all_reduce") may run on a worker thread, and two workers of one queue may begin in another
// order than was asked. The operator has the arguments and the place in the program.

struct AskedRow {
  const HostRow* row = nullptr;    // the backend's; the operator's without such rows
  const HostRow* asker = nullptr;  // the operator's; `row` if it is not recorded
};

// By start. A row belongs to the first operator before it that no other row took, of its kind and,
// where both record shapes, of its size. Operators that only enqueue for a device that was not
// recorded (`device_unseen`) are no calls: they do not show its time. O(rows log rows).
[[nodiscard]] std::vector<AskedRow> asked_rows(const Trace& trace, const HostCommunication& host,
                                               bool device_unseen);

}  // namespace stepscope
