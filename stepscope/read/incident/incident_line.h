// SPDX-License-Identifier: Apache-2.0
// One line of a log as an event of a job that stands still or ends: what launchers (torchrun,
// mpirun, srun), schedulers (Slurm, Kubernetes), kernels (Xid, OOM killer), NCCL's InfiniBand
// transport and Python write. docs/reference/inputs.md has the sources of the formats.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stepscope/event/incident.h"
#include "stepscope/read/incident/launcher_prefix.h"  // IWYU pragma: export

namespace stepscope {

// The event of a line that stands alone. Time, input, line and the rank of a launcher's prefix are
// not set.
[[nodiscard]] std::optional<IncidentEvent> parse_incident(std::string_view line);

// "ValueError: …": the last line of a traceback. `text` has no launcher's prefix.
[[nodiscard]] bool is_exception_line(std::string_view text);
// Whether a message says that another process or a signal ended first: a connection that its peer
// closed, an aborted communicator, an exit that the launcher reports of its children.
[[nodiscard]] bool is_consequence(std::string_view text);

// The time in a line: ISO dates, PyTorch's "[E626 05:06:30.9" and "E0626 05:06:30.9", syslog's
// "Nov 30 12:00:00", dmesg -T's "[Mon Nov 30 12:00:00 2026]".
[[nodiscard]] std::optional<WrittenTime> written_time(std::string_view line);

}  // namespace stepscope
