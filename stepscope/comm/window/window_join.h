// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "stepscope/base/quantity.h"
#include "stepscope/comm/communicator/communicator.h"
#include "stepscope/comm/window/window.h"

namespace stepscope::comm {

// This process becomes a rank of the window's group; returns when all have come. Error: one ended
// before it came, or did not come within the deadline.
[[nodiscard]] Result<std::unique_ptr<Communicator>> join_window(std::shared_ptr<Window> window,
                                                                int rank, std::string name,
                                                                Ns deadline);

}  // namespace stepscope::comm
