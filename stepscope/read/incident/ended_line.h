// SPDX-License-Identifier: Apache-2.0
// Lines in which a shell, Python, a container, a batch system or Ray says that a process ended, and
// those in which NCCL says that its processes do not reach each other. docs/reference/inputs.md has
// the sources of the formats.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "stepscope/event/incident.h"

namespace stepscope {

// Time, input, line and the rank of a launcher's prefix are not set.
[[nodiscard]] std::optional<IncidentEvent> parse_ended(std::string_view line);

}  // namespace stepscope
