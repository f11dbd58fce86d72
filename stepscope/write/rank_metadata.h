// SPDX-License-Identifier: Apache-2.0
// What a merged trace says about each rank, in the keys that the profiler uses for its one.
#pragma once

#include <nlohmann/json.hpp>

#include "stepscope/event/metadata.h"

namespace stepscope {

// distributedInfo, deviceProperties, the profiler's switches that are known, and all other texts.
[[nodiscard]] nlohmann::json rank_metadata(int rank, const Metadata& metadata);

}  // namespace stepscope
