// SPDX-License-Identifier: Apache-2.0
// One line of a log as an event of a job that stands still or ends: what launchers (torchrun,
// mpirun, srun), schedulers (Slurm, Kubernetes), kernels (Xid, OOM killer), NCCL's InfiniBand
// transport and Python write. docs/reference/inputs.md has the sources of the formats.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "stepscope/event/incident.h"
#include "stepscope/read/incident/error_text.h"       // IWYU pragma: export
#include "stepscope/read/incident/launcher_prefix.h"  // IWYU pragma: export

namespace stepscope {

// The event of a line that stands alone. Time, input, line and the rank of a launcher's prefix are
// not set.
[[nodiscard]] std::optional<IncidentEvent> parse_incident(std::string_view line);

// Adds what the lines in front of a row "exitcode  : …" of torchrun's table say: time, host and
// rank. `before`: the lines, the last first, without prefixes and blanks around.
void take_rows_of_table(IncidentEvent& event, std::span<const std::string_view> before);

}  // namespace stepscope
