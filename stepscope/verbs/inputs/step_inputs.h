// SPDX-License-Identifier: Apache-2.0
// What a file is for a verb that reads steps: decided by what the readers find in it, not by its
// first byte alone.
#pragma once

#include <string>
#include <string_view>

#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"
#include "stepscope/read/log/step_times.h"

namespace stepscope {

// Whether these first bytes have events of Chrome's JSON, which have a phase.
[[nodiscard]] bool has_events(std::string_view head);

// A trace is known by the readers' own marks; XLA's and Perfetto's are no text. A file that begins
// as JSON and is no trace may be a log whose first line is a JSON object.
// Errors: those of opening it.
[[nodiscard]] Result<StepFileKind> kind_of_steps(const std::string& path,
                                                 const StepReading& reading,
                                                 const StopFlag* stop = nullptr);

}  // namespace stepscope
