// SPDX-License-Identifier: Apache-2.0
// A running job as OpenMetrics text (docs/reference/live.md): about fifty series, however many
// ranks the job has.
#pragma once

#include <string>

#include "stepscope/verbs/live/live.h"

namespace stepscope {

// Late ranks have a series each; at most this many.
inline constexpr std::size_t most_late_series = 16;

[[nodiscard]] std::string live_metrics(const LiveView& view);
// The same in Prometheus' older text format, which the textfile collector of its node exporter
// reads: the families of counters have the names of their samples.
[[nodiscard]] std::string live_textfile(const LiveView& view);

}  // namespace stepscope
