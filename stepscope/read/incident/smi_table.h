// SPDX-License-Identifier: Apache-2.0
// The table that nvidia-smi prints without arguments.
#pragma once

#include <optional>
#include <string_view>

#include "stepscope/event/incident.h"

namespace stepscope {

// The event of GPUs that hold a program's memory and have no work, where all others of the table
// are busy. `line` is the one with the version, `behind_it` the text that follows. Time and input
// are not set.
[[nodiscard]] std::optional<IncidentEvent> idle_in_table(std::string_view line,
                                                         std::string_view behind_it);

}  // namespace stepscope
