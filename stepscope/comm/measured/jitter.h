// SPDX-License-Identifier: Apache-2.0
// Random delays in every call: for tests that no result depends on when the ranks come.
#pragma once

#include <cstdint>
#include <memory>

#include "stepscope/base/quantity.h"
#include "stepscope/comm/communicator/communicator.h"

namespace stepscope {

// About half of all calls sleep before they go on, for up to `most`. The delays depend on the seed,
// the rank and the number of the call.
[[nodiscard]] std::unique_ptr<Communicator> jitter(std::unique_ptr<Communicator> inner,
                                                   std::uint64_t seed, Ns most);

}  // namespace stepscope
