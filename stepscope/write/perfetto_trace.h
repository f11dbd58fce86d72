// SPDX-License-Identifier: Apache-2.0
// Writes all ranks of a run as one native Perfetto trace (protos/perfetto/trace of
// github.com/google/perfetto), for ui.perfetto.dev, trace_processor and our own reader. Reading it
// again gives the same slices, links, shapes, collectives, counters and memory events, and so the
// same budget. It has about a quarter of the bytes of a Chrome trace.
#pragma once

#include <span>
#include <string>

#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"
#include "stepscope/write/rank_rows.h"

namespace stepscope {

// Writes `path` (gzip if it ends in .gz). Each rank becomes processes "rank N: …" with tracks for
// threads and streams. Overlapping slices go to further tracks of the same name, because slices of
// a track must nest. A launch and its device work share a flow. Readings are counter tracks. The
// metadata of a rank's file is an instant event, "rank metadata". Marks are slices of a track of
// their own. Instants are UNIX time if every
// rank has it.
[[nodiscard]] Result<Done> write_perfetto_trace(std::span<const RankToWrite> ranks,
                                                const std::string& path,
                                                const StopFlag* stop = nullptr);

}  // namespace stepscope
