// SPDX-License-Identifier: Apache-2.0
// One line of a log as an event of a job that stands still or ends: what launchers (torchrun,
// mpirun, srun), schedulers (Slurm, Kubernetes), kernels (Xid, OOM killer), NCCL's InfiniBand
// transport and Python write. docs/reference/inputs.md has the sources of the formats.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stepscope/event/incident.h"

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

// The rank of the job in front of a line: "[rank3]:", and "3: " in the output of srun --label.
[[nodiscard]] std::optional<int> launcher_rank(std::string_view line, bool labelled = false);
// Whether a text is the output of srun --label: nearly all of its lines begin with "3: ".
[[nodiscard]] bool is_labelled(std::string_view text);
// "[default3]:" of torchrun: the rank on its host.
[[nodiscard]] std::optional<int> launcher_local_rank(std::string_view line);
// The line without such prefixes, those of Ray ("(RayWorker pid=1, ip=…)") and of time stamps of
// Kubernetes; blanks in front of the text remain.
[[nodiscard]] std::string_view without_launcher(std::string_view line);

}  // namespace stepscope
