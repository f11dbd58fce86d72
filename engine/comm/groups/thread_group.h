// SPDX-License-Identifier: Apache-2.0
// Ranks that are threads of one process.
#pragma once

#include <memory>
#include <vector>

#include "engine/comm/communicator/communicator.h"
#include "stepscope/base/quantity.h"

namespace stepscope {

// Small enough for the caches: with a bucket of 8 MiB, messages of 1 MiB take 1.3 times as long.
inline constexpr Bytes default_bucket{4 << 20};

// One communicator per rank, each for a thread of its own. A rank stages its data in `bucket`
// bytes. Error: the number of ranks is not 1 to 1024, or there is no memory.
[[nodiscard]] Result<std::vector<std::unique_ptr<Communicator>>> make_thread_group(
    int ranks, Bytes bucket = default_bucket);

}  // namespace stepscope
