// SPDX-License-Identifier: Apache-2.0
// All ranks of a run as one Chrome trace on one time axis, for ui.perfetto.dev and for our own
// reader: what was read comes back with the same slices, links, shapes, collectives and memory
// events, and so with the same budget.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"
#include "stepscope/write/rank_rows.h"

namespace stepscope {

// Writes `path` (gzip when it ends in .gz). Each rank becomes processes "rank N: …"; streams keep
// their number, and kernels that overlap on one stream go to a second row of it, because viewers
// drop overlapping slices. Traces with relative clocks keep their own time. The host's rows that
// overlap without nesting are written as they are.
[[nodiscard]] Result<Done> write_chrome_trace(std::span<const RankToWrite> ranks,
                                              const std::string& path,
                                              const StopFlag* stop = nullptr);

}  // namespace stepscope
