// SPDX-License-Identifier: Apache-2.0
// Simulates a link slower than the machine's own, with the same speed on every machine.
#pragma once

#include <memory>

#include "engine/comm/communicator/communicator.h"
#include "stepscope/base/quantity.h"

namespace stepscope {

// Each collective holds this rank's link for α + sent/β, where sent is collective_sent()
// (counting_communicator.h); for recv, the received bytes. Collectives use the link one after the
// other in the order of their tickets, and none starts before the last rank has submitted it. A
// ticket is complete when its time on the link is over and `inner` has completed it. Subgroups
// share the link. At most 1024 tickets may be unfinished. REQUIRES: β above 0.
[[nodiscard]] std::unique_ptr<Communicator> throttle(std::unique_ptr<Communicator> inner, Ns alpha,
                                                     ByteRate beta);

}  // namespace stepscope
