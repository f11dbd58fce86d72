// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "engine/comm/communicator/communicator.h"
#include "engine/comm/window/window.h"
#include "stepscope/base/quantity.h"

namespace stepscope::comm {

// Makes this process a rank of the window's group. Returns when all ranks have joined. Error: a
// rank ended before it joined, or did not join by the deadline. The code of the first rank that
// finds it is `failed`, that of the others `other_rank`.
[[nodiscard]] Result<std::unique_ptr<Communicator>> join_window(std::shared_ptr<Window> window,
                                                                int rank, std::string name,
                                                                Ns deadline);

}  // namespace stepscope::comm
