// SPDX-License-Identifier: Apache-2.0
// Arguments of a job that programs print: its size, and what `predict` takes as well.
#pragma once

#include <string>
#include <string_view>

#include "stepscope/event/incident.h"

namespace stepscope {

// Adds what a line of the file `path` states.
void read_job_arguments(std::string_view line, const std::string& path, Incident& into);

}  // namespace stepscope
