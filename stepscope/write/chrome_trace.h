// SPDX-License-Identifier: Apache-2.0
// Writes all ranks of a run as one Chrome trace on one time axis, for ui.perfetto.dev and for our
// own reader. Reading it again gives the same slices, links, shapes, collectives and memory events,
// and so the same budget.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"
#include "stepscope/write/rank_rows.h"

namespace stepscope {

// Writes `path` (gzip if it ends in .gz). Each rank becomes processes "rank N: …". Streams keep
// their number. Overlapping kernels of one stream go to a second row, because viewers drop
// overlapping slices. Traces with relative clocks keep their own time. Host rows that overlap
// without nesting are written unchanged.
[[nodiscard]] Result<Done> write_chrome_trace(std::span<const RankToWrite> ranks,
                                              const std::string& path,
                                              const StopFlag* stop = nullptr);

}  // namespace stepscope
