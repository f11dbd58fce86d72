// SPDX-License-Identifier: Apache-2.0
// Events and operations as rows of a Chrome trace that `stepscope analyze` reads. Words are
// torch.profiler's if it has any.
#pragma once

#include <cstdint>

#include "plugins/nccl/operation.h"
#include "plugins/nccl/row_text.h"
#include "plugins/nccl/session.h"

namespace stepscope::nccl {

struct RowPlace {
  const Communicator* communicator = nullptr;
  std::int32_t process = 0;
  std::int32_t device = 0;
  std::uint32_t correlation = 0;  // of the call's rows
};

// The call on the host, until it was enqueued.
void put_enqueue(RowText& row, const Operation& operation, const RowPlace& place);
// The call on the device, with all known data.
void put_device(RowText& row, const Operation& operation, const DeviceTime& time,
                const RowPlace& place);
// Any other event: a range of a host thread, or an asynchronous pair if ranges overlap.
void put_event(RowText& row, const Event& event, const RowPlace& place);

// Name and process group of a communicator's stream, once per file.
void put_stream_name(RowText& row, const RowPlace& place);

}  // namespace stepscope::nccl
