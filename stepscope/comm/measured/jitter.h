// SPDX-License-Identifier: Apache-2.0
// Random delays in calls. Tests use them to show that no result depends on the ranks' timing.
#pragma once

#include <cstdint>
#include <memory>

#include "stepscope/base/quantity.h"
#include "stepscope/comm/communicator/communicator.h"

namespace stepscope {

// About half of all calls first sleep for up to `most`. The delays depend on the seed, the rank and
// the number of the call.
[[nodiscard]] std::unique_ptr<Communicator> jitter(std::unique_ptr<Communicator> inner,
                                                   std::uint64_t seed, Ns most);

}  // namespace stepscope
