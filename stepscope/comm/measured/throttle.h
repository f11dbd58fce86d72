// SPDX-License-Identifier: Apache-2.0
// A slower link than the machine has, the same on every machine.
#pragma once

#include <memory>

#include "stepscope/base/quantity.h"
#include "stepscope/comm/communicator/communicator.h"

namespace stepscope {

// Each collective holds this rank's link for α + sent/β, where sent is collective_sent()
// (counting.h; what is received, for recv): one after the other in the order of their tickets, none
// before the last rank has submitted it. A ticket is complete when its time on the link is over,
// and not before `inner` has completed it. Subgroups share the link. At most 1024 unfinished
// tickets.
[[nodiscard]] std::unique_ptr<Communicator> throttle(std::unique_ptr<Communicator> inner, Ns alpha,
                                                     ByteRate beta);

}  // namespace stepscope
