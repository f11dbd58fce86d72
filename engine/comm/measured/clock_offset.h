// SPDX-License-Identifier: Apache-2.0
// The clocks of ranks on several hosts: CLOCK_MONOTONIC counts from a boot, so each host's differs.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/comm/communicator/communicator.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"

namespace stepscope {

struct HostClock {
  std::int64_t boot = 0;  // equal for processes with the same clock
  std::function<Ns()> now = monotonic_now;
};
// The clock of this process; `boot` comes from the kernel's boot id.
[[nodiscard]] HostClock host_clock();

struct ClockOffset {
  Ns offset{};       // rank 0's clock minus this one's
  Ns uncertainty{};  // bound of the offset's error
};
// The offset is exactly zero for a rank on rank 0's host. For other ranks it comes from Cristian's
// method: the shortest of 64 round trips to rank 0, with the reply assumed at the middle of the
// trip. The uncertainty is half that trip. All ranks call it. Error: the transport's.
[[nodiscard]] Result<ClockOffset> clock_offset(Communicator& comm,
                                               const HostClock& clock = host_clock());

}  // namespace stepscope
