// SPDX-License-Identifier: Apache-2.0
// The metadata of each rank in a merged trace, with the profiler's own keys.
#pragma once

#include <nlohmann/json.hpp>

#include "stepscope/event/metadata.h"

namespace stepscope {

// distributedInfo, deviceProperties, the known switches of the profiler, and all other texts.
[[nodiscard]] nlohmann::json rank_metadata(int rank, const Metadata& metadata);

}  // namespace stepscope
