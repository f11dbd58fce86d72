// SPDX-License-Identifier: Apache-2.0
// The calls of a rank without a device, each with the operator that asked for it. A backend's row
// ("gloo:all_reduce") may run on a worker thread, and two workers of one queue may begin in another
// order than was asked. The operator has the arguments and the place in the program.
#pragma once

#include <vector>

#include "stepscope/analysis/matching/host_communication.h"

namespace stepscope {

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
