// SPDX-License-Identifier: Apache-2.0
// A machine as the text of a machine file. parse_machine reads it back unchanged.
#pragma once

#include <string>

#include "stepscope/cost/machine/machine.h"

namespace stepscope {

// JSON with a newline at its end. Figures keep every digit. Absent figures are left out. REQUIRES:
// a name and at least one source.
[[nodiscard]] std::string machine_text(const Machine& machine);

}  // namespace stepscope
