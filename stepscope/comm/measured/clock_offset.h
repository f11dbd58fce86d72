// SPDX-License-Identifier: Apache-2.0
// The clocks of ranks on several hosts: CLOCK_MONOTONIC counts from a boot, so each host's differs.
#pragma once

#include <cstdint>
#include <functional>

#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/comm/communicator/communicator.h"

namespace stepscope {

struct HostClock {
  std::int64_t boot = 0;  // the same where the clock is the same
  std::function<Ns()> now = monotonic_now;
};
// Of this process, by the kernel's boot id.
[[nodiscard]] HostClock host_clock();

struct ClockOffset {
  Ns offset{};       // rank 0's clock less this one's
  Ns uncertainty{};  // the offset is off by no more
};
// Zero, exactly, for a rank on rank 0's host. Else by Cristian's method: of 64 round trips to rank
// 0 the shortest, its reply taken to be from the middle; the uncertainty is half that trip. Called
// by all ranks. Error: the transport's.
[[nodiscard]] Result<ClockOffset> clock_offset(Communicator& comm,
                                               const HostClock& clock = host_clock());

}  // namespace stepscope
