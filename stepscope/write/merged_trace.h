// SPDX-License-Identifier: Apache-2.0
// All ranks of a run as one trace, in the format that the file's name asks for.
#pragma once

#include <span>
#include <string>

#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"
#include "stepscope/write/rank_rows.h"

namespace stepscope {

// Native Perfetto where `path` ends in .pftrace or .perfetto-trace, else Chrome JSON; either with
// .gz behind it compressed.
[[nodiscard]] Result<Done> write_merged_trace(std::span<const RankToWrite> ranks,
                                              const std::string& path,
                                              const StopFlag* stop = nullptr);

}  // namespace stepscope
