// SPDX-License-Identifier: Apache-2.0
// Writes all ranks of a run as one trace. The file's name selects the format.
#pragma once

#include <span>
#include <string>

#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"
#include "stepscope/write/rank_rows.h"

namespace stepscope {

// Native Perfetto if `path` ends in .pftrace or .perfetto-trace, else Chrome JSON. With .gz at the
// end it is compressed.
[[nodiscard]] Result<Done> write_merged_trace(std::span<const RankToWrite> ranks,
                                              const std::string& path,
                                              const StopFlag* stop = nullptr);

}  // namespace stepscope
