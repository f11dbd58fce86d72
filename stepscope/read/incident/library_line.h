// SPDX-License-Identifier: Apache-2.0
// Lines in which a native library reports an error: MPI and its launcher, UCX, oneCCL, the C
// library, nccl-tests, JAX. docs/reference/inputs.md has the sources of the formats.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "stepscope/event/incident.h"

namespace stepscope {

// Time, input, line and the rank of a launcher's prefix are not set; oneCCL writes its own time.
[[nodiscard]] std::optional<IncidentEvent> parse_library_error(std::string_view line);

// Whether lines behind an event may say more of it.
[[nodiscard]] bool has_fields_behind(const IncidentEvent& event, std::string_view line);
// Adds what the lines behind an event say of it, which are without prefixes and blanks around.
// `line` is that of the event.
void take_fields(IncidentEvent& event, std::string_view line,
                 std::span<const std::string_view> behind);

}  // namespace stepscope
