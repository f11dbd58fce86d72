// SPDX-License-Identifier: Apache-2.0
// The machine that a person names on the command line.
#pragma once

#include <string>

#include "stepscope/base/result.h"
#include "stepscope/cost/machine/machine.h"

namespace stepscope {

// A machine of the catalogue by its file's stem ("h100_sxm_80gb"), its name or an alias that is
// this machine's alone (case does not matter), or the file where `name` ends with .json or has a
// slash. An unknown name is an error that suggests the nearest stems.
[[nodiscard]] Result<Machine> machine_named(const std::string& name);

}  // namespace stepscope
