// SPDX-License-Identifier: Apache-2.0
// All ranks of a run as one native Perfetto trace (protos/perfetto/trace of
// github.com/google/perfetto), for ui.perfetto.dev, trace_processor and our own reader: what was
// read comes back with the same slices, links, shapes, collectives, counters and memory events, and
// so with the same budget. About a quarter of the bytes of a Chrome trace.
#pragma once

#include <span>
#include <string>

#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"
#include "stepscope/write/rank_rows.h"

namespace stepscope {

// Writes `path` (gzip when it ends in .gz). Each rank becomes processes "rank N: …" with tracks for
// threads and streams; slices that overlap on one go to further tracks of the same name, because a
// track's slices nest. Launches and their work share a flow, readings are counter tracks, and what
// a rank's file said of it is an instant, "rank metadata". Instants are UNIX time, where every rank
// has it.
[[nodiscard]] Result<Done> write_perfetto_trace(std::span<const RankToWrite> ranks,
                                                const std::string& path,
                                                const StopFlag* stop = nullptr);

}  // namespace stepscope
